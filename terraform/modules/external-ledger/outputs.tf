output "ledger" {
  description = "The ledger, as the modules `scheduled-task`, `pinned-clock` and `alarms` take it"
  value = {
    name             = var.name
    schedule_group   = try(aws_scheduler_schedule_group.this[0].name, null)
    dead_letters_arn = try(aws_sqs_queue.dead_letters[0].arn, null)
    url_secret       = { arn = var.url_secret_arn, policy_json = local.url_policy }
  }
}

output "container_secret" {
  description = "What the container of each job needs in its task definition: `secrets = [module.ledger.container_secret]`"
  value       = var.create ? local.secret : null
}

output "url_policy_json" {
  description = "What an execution role needs to read the URL. `scheduled-task` and `pinned-clock` attach it"
  value       = var.create ? local.url_policy : null
}

output "schedule_group_name" {
  description = "Name of the schedule group of the ledger's jobs, the value of `CRONCE_SCHEDULE_GROUP` for the command line"
  value       = try(aws_scheduler_schedule_group.this[0].name, null)
}

output "schedule_group_arn" {
  description = "ARN of the schedule group"
  value       = try(aws_scheduler_schedule_group.this[0].arn, null)
}

output "dead_letter_queue_arn" {
  description = "ARN of the queue for ticks whose task could not be started"
  value       = try(aws_sqs_queue.dead_letters[0].arn, null)
}

output "dead_letter_queue_url" {
  description = "URL of that queue"
  value       = try(aws_sqs_queue.dead_letters[0].id, null)
}

output "service_name" {
  description = "Name of the watchdog's service"
  value       = try(aws_ecs_service.this[0].name, null)
}

output "service_arn" {
  description = "ARN of the watchdog's service"
  value       = try(aws_ecs_service.this[0].id, null)
}

output "task_definition_arn" {
  description = "ARN of the watchdog's task definition, with its revision"
  value       = try(aws_ecs_task_definition.this[0].arn, null)
}

output "task_role_arn" {
  description = "ARN of the watchdog's task role"
  value       = try(aws_iam_role.task[0].arn, null)
}

output "task_role_name" {
  description = "Name of the watchdog's task role"
  value       = try(aws_iam_role.task[0].name, null)
}

output "execution_role_arn" {
  description = "ARN of the watchdog's execution role"
  value       = try(aws_iam_role.execution[0].arn, null)
}

output "log_group_name" {
  description = "Name of the watchdog's log group"
  value       = try(aws_cloudwatch_log_group.this[0].name, null)
}
