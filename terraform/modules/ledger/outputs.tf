output "ledger" {
  description = "The ledger, as the modules `scheduled-task`, `pinned-clock` and `alarms` take it"
  value = {
    name             = var.name
    url              = local.url
    table_arn        = local.table_arn
    schedule_group   = try(aws_scheduler_schedule_group.this[0].name, null)
    dead_letters_arn = try(aws_sqs_queue.dead_letters[0].arn, null)
    kms_keys         = var.kms_keys
  }
}

output "url" {
  description = "The value of `CRONCE_LEDGER`, for the command line"
  value       = local.url
}

output "table_name" {
  description = "Name of the table"
  value       = var.create ? local.table_name : null
}

output "table_arn" {
  description = "ARN of the table"
  value       = local.table_arn
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
  value       = try(aws_lambda_function.this["recorder"].function_name, null)
}

output "recorder_function_arn" {
  description = "ARN of the recorder's function"
  value       = try(aws_lambda_function.this["recorder"].arn, null)
}

output "watchdog_function_name" {
  description = "Name of the watchdog's function"
  value       = try(aws_lambda_function.this["watchdog"].function_name, null)
}

output "watchdog_function_arn" {
  description = "ARN of the watchdog's function"
  value       = try(aws_lambda_function.this["watchdog"].arn, null)
}

output "rerun_function_name" {
  description = "Name of the rerun function, the value of `CRONCE_RERUN_FUNCTION`"
  value       = try(aws_lambda_function.this["rerun"].function_name, null)
}

output "rerun_function_arn" {
  description = "ARN of the rerun function"
  value       = try(aws_lambda_function.this["rerun"].arn, null)
}

output "rerun_policy_json" {
  description = "A policy for people who start runs of all jobs with `cronce rerun --through`"
  value = local.create_rerun ? jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "lambda:InvokeFunction", Resource = aws_lambda_function.this["rerun"].arn }]
  }) : null
}

output "board_function_arn" {
  description = "ARN of the function behind the widget that shows the runs on a dashboard"
  value       = try(aws_lambda_function.this["board"].arn, null)
}

output "board_widget" {
  description = "The widget, for the list `widgets` of `aws_cloudwatch_dashboard`; add `width`, `height` and, as `properties.params`, `days`, `jobs` or `part`"
  value = local.create_board ? {
    type   = "custom"
    width  = 24
    height = 12
    properties = {
      title    = "Runs"
      endpoint = aws_lambda_function.this["board"].arn
      params   = {}
      updateOn = { refresh = true, resize = false, timeRange = false }
    }
  } : null
}

output "board_policy_json" {
  description = "A policy for people who look at a dashboard with that widget"
  value = local.create_board ? jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "lambda:InvokeFunction", Resource = aws_lambda_function.this["board"].arn }]
  }) : null
}

output "read_policy_json" {
  description = "A policy for people who read the runs of all jobs, as `cronce runs` and `cronce show` do"
  value = var.create ? jsonencode({
    Version   = "2012-10-17"
    Statement = concat([{ Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:Query"], Resource = local.table_arn }], local.reading_table)
  }) : null
}

output "logs_key_statement_json" {
  description = "The statement that CloudWatch Logs needs in the policy of the key for logs"
  value = var.create ? jsonencode({
    Effect    = "Allow"
    Principal = { Service = "logs.${local.region}.amazonaws.com" }
    Action    = ["kms:Encrypt*", "kms:Decrypt*", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
    Resource  = "*"
    Condition = { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:*" } }
  }) : null
}
