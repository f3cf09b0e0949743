output "job" {
  description = "The job's name in the ledger"
  value       = var.job
}

output "schedule_name" {
  description = "Name of the schedule"
  value       = try(aws_scheduler_schedule.this[0].name, null)
}

output "schedule_arn" {
  description = "ARN of the schedule"
  value       = try(aws_scheduler_schedule.this[0].arn, null)
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
  description = "What the task role needs to claim runs of this job"
  value       = var.create ? local.claim_policy : null
}

output "run_policy_json" {
  description = "What a person needs to start the job's task, as `cronce rerun` and `cronce backfill` do, in addition to `read_policy_json` of the ledger"
  value       = var.create ? local.run_policy : null
}
