output "job" {
  description = "The name of the clock's lease in the ledger"
  value       = var.job
}

output "service_name" {
  description = "Name of the service"
  value       = try(aws_ecs_service.this[0].name, null)
}

output "service_arn" {
  description = "ARN of the service"
  value       = try(aws_ecs_service.this[0].id, null)
}

output "task_definition_arn" {
  description = "ARN of the task definition, with its revision"
  value       = try(aws_ecs_task_definition.this[0].arn, null)
}

output "task_role_arn" {
  description = "ARN of the task role"
  value       = try(aws_iam_role.task[0].arn, null)
}

output "task_role_name" {
  description = "Name of the task role"
  value       = try(aws_iam_role.task[0].name, null)
}

output "execution_role_arn" {
  description = "ARN of the execution role"
  value       = try(aws_iam_role.execution[0].arn, null)
}

output "log_group_name" {
  description = "Name of the clock's log group"
  value       = try(aws_cloudwatch_log_group.this[0].name, null)
}
