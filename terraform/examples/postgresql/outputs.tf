output "schedule_group" {
  description = "For CRONCE_SCHEDULE_GROUP"
  value       = module.ledger.schedule_group_name
}

output "schedule_name" {
  description = "The digest's schedule"
  value       = module.digest.schedule_name
}

output "watchdog_service" {
  description = "Name of the watchdog's service"
  value       = module.ledger.service_name
}

output "watchdog_log_group" {
  description = "The watchdog's log"
  value       = module.ledger.log_group_name
}
