output "ledger_url" {
  description = "For CRONCE_LEDGER"
  value       = module.ledger.url
}
