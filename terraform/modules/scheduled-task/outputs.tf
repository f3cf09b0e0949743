output "job" {
  description = "The job's name in the ledger"
  value       = var.job
}

output "schedule_name" {
  description = "Name of the schedule"
  value       = try(aws_scheduler_schedule.this["first"].name, null)
}

output "schedule_arn" {
  description = "ARN of the schedule"
  value       = try(aws_scheduler_schedule.this["first"].arn, null)
}

output "further_schedule_names" {
  description = "Names of the schedules of its further expressions"
  value       = var.create ? [for each in var.further_schedules : aws_scheduler_schedule.this[each].name] : null
}

output "iam_role_arn" {
  description = "ARN of the role with which EventBridge Scheduler starts the task"
  value       = try(aws_iam_role.this[0].arn, null)
}

output "iam_role_name" {
  description = "Name of that role"
  value       = try(aws_iam_role.this[0].name, null)
}

output "input" {
  description = "The task override that the schedule sends, as JSON"
  value       = var.create ? local.input : null
}

output "claim_policy_json" {
  description = "What the task role needs to claim runs of this job. Null if it needs nothing: the URL of a ledger in PostgreSQL or Redis is the permission"
  value       = var.create && local.needs_claim_policy ? local.claim_policy : null
}

output "url_policy_json" {
  description = "What the execution role needs to read the URL of a ledger in PostgreSQL or Redis"
  value       = var.create && local.external ? var.ledger.url_secret.policy_json : null
}

output "run_policy_json" {
  description = "What a person needs to start the job's task, as `cronce rerun` and `cronce backfill` do, in addition to `read_policy_json` of the ledger"
  value       = var.create ? local.run_policy : null
}
