output "ledger_url" {
  description = "For CRONCE_LEDGER"
  value       = module.ledger.url
}

output "schedule_group" {
  description = "For CRONCE_SCHEDULE_GROUP"
  value       = module.ledger.schedule_group_name
}

output "schedule_name" {
  description = "The digest's schedule"
  value       = module.digest.schedule_name
}

output "cluster_name" {
  description = "The cluster of the tasks"
  value       = aws_ecs_cluster.this.name
}

output "log_group_name" {
  description = "The log of the tasks"
  value       = aws_cloudwatch_log_group.tasks.name
}

output "watchdog_name" {
  description = "The watchdog's function"
  value       = module.ledger.watchdog_function_name
}

output "run_policy_json" {
  description = "For people who rerun the digest"
  value       = module.digest.run_policy_json
}

output "reminders_url" {
  description = "The queue to which the clock sends"
  value       = aws_sqs_queue.reminders.url
}
