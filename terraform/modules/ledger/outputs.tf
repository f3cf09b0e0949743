output "ledger" {
  description = "The ledger, as the modules `scheduled-task`, `pinned-clock` and `alarms` take it"
  value = {
    name             = var.name
    url              = local.url
    table_arn        = try(aws_dynamodb_table.this[0].arn, null)
    schedule_group   = try(aws_scheduler_schedule_group.this[0].name, null)
    dead_letters_arn = try(aws_sqs_queue.dead_letters[0].arn, null)
  }
}

output "url" {
  description = "The value of `CRONCE_LEDGER`, for the command line"
  value       = local.url
}

output "table_name" {
  description = "Name of the table"
  value       = try(aws_dynamodb_table.this[0].name, null)
}

output "table_arn" {
  description = "ARN of the table"
  value       = try(aws_dynamodb_table.this[0].arn, null)
}

output "schedule_group_name" {
  description = "Name of the schedule group of the ledger's jobs"
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

output "unsettled_queue_arn" {
  description = "ARN of the queue for messages that the recorder could not settle in all tries"
  value       = try(aws_sqs_queue.unsettled[0].arn, null)
}

output "recorder_function_name" {
  description = "Name of the recorder's function"
  value       = try(aws_lambda_function.recorder[0].function_name, null)
}

output "recorder_function_arn" {
  description = "ARN of the recorder's function"
  value       = try(aws_lambda_function.recorder[0].arn, null)
}

output "watchdog_function_name" {
  description = "Name of the watchdog's function"
  value       = try(aws_lambda_function.watchdog[0].function_name, null)
}

output "watchdog_function_arn" {
  description = "ARN of the watchdog's function"
  value       = try(aws_lambda_function.watchdog[0].arn, null)
}

output "rerun_function_name" {
  description = "Name of the rerun function, the value of `CRONCE_RERUN_FUNCTION`"
  value       = try(aws_lambda_function.rerun[0].function_name, null)
}

output "rerun_function_arn" {
  description = "ARN of the rerun function"
  value       = try(aws_lambda_function.rerun[0].arn, null)
}

output "rerun_policy_json" {
  description = "A policy for people who start runs of all jobs with `cronce rerun --through`"
  value = local.create_rerun ? jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "lambda:InvokeFunction", Resource = aws_lambda_function.rerun[0].arn }]
  }) : null
}

output "read_policy_json" {
  description = "A policy for people who read the runs of all jobs, as `cronce runs` and `cronce show` do"
  value = var.create ? jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:Query"], Resource = aws_dynamodb_table.this[0].arn }]
  }) : null
}
