data "aws_partition" "this" {
  count = var.create ? 1 : 0
}

data "aws_region" "this" {
  count  = var.create ? 1 : 0
  region = var.region
}

data "aws_caller_identity" "this" {
  count = var.create ? 1 : 0
}

locals {
  partition = try(data.aws_partition.this[0].partition, "aws")
  region    = try(data.aws_region.this[0].region, "")
  account   = try(data.aws_caller_identity.this[0].account_id, "")

  # The names that cronce's command line and CDK constructs derive from the table's name.
  digest       = substr(sha256(var.name), 0, 12)
  group        = length(var.name) <= 64 ? var.name : "${substr(var.name, 0, 51)}-${local.digest}"
  plain        = replace(var.name, ".", "-")
  queue_stem   = local.plain == var.name && length(var.name) <= 66 ? var.name : "${substr(local.plain, 0, 50)}-${local.digest}"
  dead_letters = "${local.queue_stem}-dead-letters"
  unsettled    = "${local.queue_stem}-unsettled"
  # At most 50 characters: functions and rules have at most 64.
  stem = local.plain == var.name && length(var.name) <= 50 ? var.name : "${substr(local.plain, 0, 37)}-${local.digest}"

  create_rerun = var.create && var.create_rerun_function

  url = try("dynamodb://${aws_dynamodb_table.this[0].name}?region=${local.region}", null)

  archive = coalesce(var.lambda_archive, "${path.module}/cronce-lambdas.zip")
  in_s3   = var.lambda_archive_s3 != null
  found   = local.in_s3 || fileexists(local.archive)
  sha256  = local.in_s3 ? try(var.lambda_archive_s3.sha256_base64, null) : try(filebase64sha256(local.archive), null)

  pinned = { for job, service in var.pinned_services : job => merge(service, {
    service_arn = replace("${service.cluster_arn}/${service.service_name}", ":cluster/", ":service/")
  }) }
  pinned_json = jsonencode([for job in sort(keys(local.pinned)) : {
    cluster = local.pinned[job].cluster_arn
    service = local.pinned[job].service_name
    job     = job
  }])

  environment = merge({
    CRONCE_LEDGER         = local.url
    CRONCE_SCHEDULE_GROUP = try(aws_scheduler_schedule_group.this[0].name, null)
    CRONCE_METRICS        = "emf"
  }, length(local.pinned) == 0 ? {} : { CRONCE_PINNED_SERVICES = local.pinned_json })

  # The tasks that the watchdog may look at.
  cluster_names = length(var.cluster_arns) == 0 ? ["*"] : [for arn in var.cluster_arns : split("/", arn)[1]]
  tasks_arns    = [for name in local.cluster_names : "arn:${local.partition}:ecs:${local.region}:${local.account}:task/${name}/*"]
  in_clusters = { for operator, clusters in {
    ArnEquals = var.cluster_arns
    ArnLike   = length(var.cluster_arns) == 0 ? ["arn:${local.partition}:ecs:${local.region}:${local.account}:cluster/*"] : []
  } : operator => { "ecs:cluster" = clusters } if length(clusters) > 0 }

  launching = [
    { Effect = "Allow", Action = ["scheduler:CreateSchedule", "scheduler:GetSchedule"], Resource = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule/${local.group}/*" },
    { Effect = "Allow", Action = "scheduler:ListSchedules", Resource = "*" },
    {
      Effect    = "Allow"
      Action    = "iam:PassRole"
      Resource  = "arn:${local.partition}:iam::${local.account}:role/cronce/${local.group}/*"
      Condition = { StringEquals = { "iam:PassedToService" = "scheduler.amazonaws.com" } }
    },
  ]

  sending_events = [{
    Effect    = "Allow"
    Action    = "events:PutEvents"
    Resource  = "arn:${local.partition}:events:${local.region}:${local.account}:event-bus/default"
    Condition = { StringEquals = { "events:source" = "cronce" } }
  }]

  assumed_by_lambda = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

################################################################################
# Table, schedule group, queues
################################################################################

resource "aws_dynamodb_table" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "job"
  range_key                   = "key"
  deletion_protection_enabled = var.deletion_protection_enabled

  attribute {
    name = "job"
    type = "S"
  }

  attribute {
    name = "key"
    type = "S"
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  tags = var.tags
}

resource "aws_scheduler_schedule_group" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name = local.group
  tags = var.tags
}

resource "aws_sqs_queue" "unsettled" {
  count = var.create ? 1 : 0

  region = var.region

  name                      = local.unsettled
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

resource "aws_sqs_queue" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  name                       = local.dead_letters
  message_retention_seconds  = 1209600
  visibility_timeout_seconds = 360
  sqs_managed_sse_enabled    = true
  tags                       = var.tags

  # Tries of the recorder for a dead letter, six minutes apart: a ledger may be away for ten hours.
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.unsettled[0].arn
    maxReceiveCount     = 100
  })
}

resource "aws_sqs_queue_policy" "unsettled" {
  count = var.create ? 1 : 0

  region = var.region

  queue_url = aws_sqs_queue.unsettled[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Action    = "sqs:*"
      Resource  = aws_sqs_queue.unsettled[0].arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

resource "aws_sqs_queue_policy" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  queue_url = aws_sqs_queue.dead_letters[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Action    = "sqs:*"
      Resource  = aws_sqs_queue.dead_letters[0].arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

################################################################################
# Recorder: settles the run of a task that stopped, and of a tick that was not delivered
################################################################################

resource "aws_cloudwatch_log_group" "recorder" {
  count = var.create ? 1 : 0

  region = var.region

  name              = "/aws/lambda/${local.stem}-recorder"
  retention_in_days = var.log_retention_in_days
  tags              = var.tags
}

resource "aws_iam_role" "recorder" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-recorder-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_lambda
  tags                 = var.tags
}

resource "aws_iam_role_policy" "recorder" {
  count = var.create ? 1 : 0

  name = "Function"
  role = aws_iam_role.recorder[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      { Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.recorder[0].arn}:*" },
      { Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], Resource = aws_dynamodb_table.this[0].arn },
      ], local.launching, local.sending_events, [
      { Effect = "Allow", Action = "sqs:SendMessage", Resource = aws_sqs_queue.dead_letters[0].arn },
      { Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], Resource = aws_sqs_queue.dead_letters[0].arn },
    ])
  })
}

resource "aws_lambda_function" "recorder" {
  count = var.create ? 1 : 0

  region = var.region

  function_name     = "${local.stem}-recorder"
  description       = "Settles the run of a task that stopped or could not be started, and has it started again"
  filename          = local.in_s3 ? null : local.archive
  s3_bucket         = try(var.lambda_archive_s3.bucket, null)
  s3_key            = try(var.lambda_archive_s3.key, null)
  s3_object_version = try(var.lambda_archive_s3.object_version, null)
  source_code_hash  = local.sha256
  handler           = "cronce_lambdas.recorder.handler"
  runtime           = var.lambda_runtime
  memory_size       = 512
  timeout           = 60
  role              = aws_iam_role.recorder[0].arn
  tags              = var.tags

  environment {
    variables = local.environment
  }

  dead_letter_config {
    target_arn = aws_sqs_queue.dead_letters[0].arn
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.recorder[0].name
  }

  depends_on = [aws_iam_role_policy.recorder]

  lifecycle {
    precondition {
      condition     = !(local.in_s3 && var.lambda_archive != null)
      error_message = "lambda_archive, lambda_archive_s3: both are given; allowed: at most one of them."
    }
    precondition {
      condition     = local.found
      error_message = "lambda_archive: there is no file ${local.archive}. `cronce lambda-archive FILE` writes it."
    }
  }
}

resource "aws_lambda_event_source_mapping" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  event_source_arn        = aws_sqs_queue.dead_letters[0].arn
  function_name           = aws_lambda_function.recorder[0].arn
  batch_size              = 10
  function_response_types = ["ReportBatchItemFailures"]
  tags                    = var.tags

  # The minimum, so that many dead letters do not use up the account's concurrency.
  scaling_config {
    maximum_concurrency = 2
  }
}

resource "aws_cloudwatch_event_rule" "task_stopped" {
  count = var.create ? 1 : 0

  region = var.region

  name        = "${local.stem}-task-stopped"
  description = "Invokes the recorder when a task stops"
  tags        = var.tags

  event_pattern = jsonencode({
    account     = [local.account]
    source      = ["aws.ecs"]
    detail-type = ["ECS Task State Change"]
    detail = merge({
      lastStatus = ["STOPPED"]
      overrides  = { containerOverrides = { environment = { name = ["CRONCE_LEDGER"], value = [local.url] } } }
    }, length(var.cluster_arns) == 0 ? {} : { clusterArn = var.cluster_arns })
  })
}

resource "aws_cloudwatch_event_target" "task_stopped" {
  count = var.create ? 1 : 0

  region = var.region

  rule      = aws_cloudwatch_event_rule.task_stopped[0].name
  target_id = "recorder"
  arn       = aws_lambda_function.recorder[0].arn
}

resource "aws_lambda_permission" "task_stopped" {
  count = var.create ? 1 : 0

  region = var.region

  statement_id  = "task-stopped"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.recorder[0].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.task_stopped[0].arn
}

# The tasks of a pinned clock have no overrides: their group, the service, identifies them.
resource "aws_cloudwatch_event_rule" "clock_stopped" {
  for_each = { for job, service in local.pinned : job => service if var.create }

  region = var.region

  name        = "${local.stem}-${substr(sha256(each.key), 0, 12)}"
  description = "Invokes the recorder when the clock stops"
  tags        = var.tags

  event_pattern = jsonencode({
    account     = [local.account]
    source      = ["aws.ecs"]
    detail-type = ["ECS Task State Change"]
    detail = {
      lastStatus = ["STOPPED"]
      clusterArn = [each.value.cluster_arn]
      group      = ["service:${each.value.service_name}"]
    }
  })
}

resource "aws_cloudwatch_event_target" "clock_stopped" {
  for_each = aws_cloudwatch_event_rule.clock_stopped

  region = var.region

  rule      = each.value.name
  target_id = "recorder"
  arn       = aws_lambda_function.recorder[0].arn
}

resource "aws_lambda_permission" "clock_stopped" {
  for_each = aws_cloudwatch_event_rule.clock_stopped

  region = var.region

  statement_id  = "clock-stopped-${substr(sha256(each.key), 0, 12)}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.recorder[0].function_name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.arn
}

################################################################################
# Watchdog: checks each minute for missed ticks and lost runs
################################################################################

resource "aws_cloudwatch_log_group" "watchdog" {
  count = var.create ? 1 : 0

  region = var.region

  name              = "/aws/lambda/${local.stem}-watchdog"
  retention_in_days = var.log_retention_in_days
  tags              = var.tags
}

resource "aws_iam_role" "watchdog" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-watchdog-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_lambda
  tags                 = var.tags
}

resource "aws_iam_role_policy" "watchdog" {
  count = var.create ? 1 : 0

  name = "Function"
  role = aws_iam_role.watchdog[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      { Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.watchdog[0].arn}:*" },
      { Effect = "Allow", Action = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], Resource = aws_dynamodb_table.this[0].arn },
      ], local.launching, local.sending_events, [
      { Effect = "Allow", Action = "ecs:ListTasks", Resource = "*", Condition = local.in_clusters },
      { Effect = "Allow", Action = "ecs:DescribeTasks", Resource = local.tasks_arns },
      ], [
      for job in sort(keys(local.pinned)) : { Effect = "Allow", Action = "ecs:DescribeServices", Resource = local.pinned[job].service_arn }
    ])
  })
}

resource "aws_lambda_function" "watchdog" {
  count = var.create ? 1 : 0

  region = var.region

  function_name     = "${local.stem}-watchdog"
  description       = "Checks for missed ticks and lost runs"
  filename          = local.in_s3 ? null : local.archive
  s3_bucket         = try(var.lambda_archive_s3.bucket, null)
  s3_key            = try(var.lambda_archive_s3.key, null)
  s3_object_version = try(var.lambda_archive_s3.object_version, null)
  source_code_hash  = local.sha256
  handler           = "cronce_lambdas.watchdog.handler"
  runtime           = var.lambda_runtime
  memory_size       = 512
  timeout           = 300
  role              = aws_iam_role.watchdog[0].arn
  tags              = var.tags

  environment {
    variables = merge(local.environment, { CRONCE_MISSED_AFTER = var.missed_after })
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.watchdog[0].name
  }

  depends_on = [aws_iam_role_policy.watchdog]
}

# The next minute makes up for a lost event.
resource "aws_lambda_function_event_invoke_config" "watchdog" {
  count = var.create ? 1 : 0

  region = var.region

  function_name                = aws_lambda_function.watchdog[0].function_name
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = 60
}

resource "aws_cloudwatch_event_rule" "each_minute" {
  count = var.create ? 1 : 0

  region = var.region

  name                = "${local.stem}-each-minute"
  description         = "Invokes the watchdog"
  schedule_expression = "rate(1 minute)"
  tags                = var.tags
}

resource "aws_cloudwatch_event_target" "each_minute" {
  count = var.create ? 1 : 0

  region = var.region

  rule      = aws_cloudwatch_event_rule.each_minute[0].name
  target_id = "watchdog"
  arn       = aws_lambda_function.watchdog[0].arn
}

resource "aws_lambda_permission" "each_minute" {
  count = var.create ? 1 : 0

  region = var.region

  statement_id  = "each-minute"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.watchdog[0].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.each_minute[0].arn
}

################################################################################
# Rerun: has a run started that a person asks for
################################################################################

resource "aws_cloudwatch_log_group" "rerun" {
  count = local.create_rerun ? 1 : 0

  region = var.region

  name              = "/aws/lambda/${local.stem}-rerun"
  retention_in_days = var.log_retention_in_days
  tags              = var.tags
}

resource "aws_iam_role" "rerun" {
  count = local.create_rerun ? 1 : 0

  name_prefix          = "cronce-rerun-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_lambda
  tags                 = var.tags
}

resource "aws_iam_role_policy" "rerun" {
  count = local.create_rerun ? 1 : 0

  name = "Function"
  role = aws_iam_role.rerun[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      { Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.rerun[0].arn}:*" },
      { Effect = "Allow", Action = "dynamodb:GetItem", Resource = aws_dynamodb_table.this[0].arn },
    ], local.launching)
  })
}

resource "aws_lambda_function" "rerun" {
  count = local.create_rerun ? 1 : 0

  region = var.region

  function_name     = "${local.stem}-rerun"
  description       = "Has a run started that a person asks for"
  filename          = local.in_s3 ? null : local.archive
  s3_bucket         = try(var.lambda_archive_s3.bucket, null)
  s3_key            = try(var.lambda_archive_s3.key, null)
  s3_object_version = try(var.lambda_archive_s3.object_version, null)
  source_code_hash  = local.sha256
  handler           = "cronce_lambdas.rerun.handler"
  runtime           = var.lambda_runtime
  memory_size       = 512
  timeout           = 30
  role              = aws_iam_role.rerun[0].arn
  tags              = var.tags

  environment {
    variables = {
      CRONCE_LEDGER         = local.url
      CRONCE_SCHEDULE_GROUP = aws_scheduler_schedule_group.this[0].name
      CRONCE_METRICS        = "emf"
    }
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.rerun[0].name
  }

  depends_on = [aws_iam_role_policy.rerun]
}

# A person waits for the answer: nothing is tried later.
resource "aws_lambda_function_event_invoke_config" "rerun" {
  count = local.create_rerun ? 1 : 0

  region = var.region

  function_name                = aws_lambda_function.rerun[0].function_name
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = 60
}

################################################################################
# Warnings
################################################################################

check "archive_differs" {
  assert {
    condition     = !var.create || var.lambda_archive_sha256 == null || local.sha256 == var.lambda_archive_sha256 || contains(var.acknowledged_warnings, "archive-differs")
    error_message = "archive-differs: the archive has the hash ${coalesce(local.sha256, "(no file)")}, not the expected ${coalesce(var.lambda_archive_sha256, "(none)")}. `cronce lambda-archive` of another version, or with another tzdata, wrote it."
  }
}
