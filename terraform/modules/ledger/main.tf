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
  create_board = var.create && var.create_board_function

  url = var.create ? "dynamodb://${local.table_name}?region=${local.region}" : null

  table_name = try(aws_dynamodb_table.this[0].name, var.name)

  # Each key through one service only: DynamoDB, SQS and EventBridge Scheduler call KMS in the name of their callers.
  via = { for service in ["dynamodb", "sqs", "scheduler"] : service => { StringEquals = { "kms:ViaService" = "${service}.${local.region}.amazonaws.com" } } }
  reading_table = [for statement in [
    { Effect = "Allow", Action = ["kms:Decrypt", "kms:DescribeKey"], Resource = var.kms_keys.table, Condition = local.via.dynamodb },
  ] : statement if var.kms_keys.table != null]
  writing_table = [for statement in local.reading_table : merge(statement, {
    Action = concat(statement.Action, ["kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"])
  })]
  using_queues = [for statement in [
    { Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.kms_keys.queues, Condition = local.via.sqs },
  ] : statement if var.kms_keys.queues != null]
  of_group = { StringLike = { "kms:EncryptionContext:aws:scheduler:schedule:arn" = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule/${local.group}/*" } }
  creating_schedules = [for statement in [
    { Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = var.kms_keys.schedules, Condition = merge(local.via.scheduler, local.of_group) },
    { Effect = "Allow", Action = ["kms:DescribeKey"], Resource = var.kms_keys.schedules, Condition = merge(local.via.scheduler, {}) },
  ] : statement if var.kms_keys.schedules != null]

  archive = coalesce(var.lambda_archive, "${path.module}/cronce-lambdas.zip")
  in_s3   = var.lambda_archive_s3 != null
  found   = local.in_s3 || fileexists(local.archive)
  # A release of the modules has the archive beside it, and its hash.
  expected = try(coalesce(var.lambda_archive_sha256, try(trimspace(file("${path.module}/cronce-lambdas.sha256")), null)), null)
  sha256   = local.in_s3 ? try(var.lambda_archive_s3.sha256_base64, null) : try(filebase64sha256(local.archive), null)

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

  launching = concat(local.creating_schedules, [
    { Effect = "Allow", Action = ["scheduler:CreateSchedule", "scheduler:GetSchedule"], Resource = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule/${local.group}/*" },
    { Effect = "Allow", Action = "scheduler:ListSchedules", Resource = "*" },
    {
      Effect    = "Allow"
      Action    = "iam:PassRole"
      Resource  = "arn:${local.partition}:iam::${local.account}:role/cronce/${local.group}/*"
      Condition = { StringEquals = { "iam:PassedToService" = "scheduler.amazonaws.com" } }
    },
  ])

  sending_events = [{
    Effect    = "Allow"
    Action    = "events:PutEvents"
    Resource  = "arn:${local.partition}:events:${local.region}:${local.account}:event-bus/default"
    Condition = { StringEquals = { "events:source" = "cronce" } }
  }]

  # What Lambda needs to attach a function to a VPC; denied to the function's own code.
  in_a_vpc    = length(var.lambda_subnet_ids) > 0
  vpc_actions = [for verb in ["CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets", "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"] : "ec2:${verb}"]
  own_code    = { ArnLike = { "lambda:SourceFunctionArn" = "arn:${local.partition}:lambda:${local.region}:${local.account}:function:*" } }
  joining_a_vpc = [for statement in [
    { Effect = "Allow", Action = local.vpc_actions, Resource = "*" },
    { Effect = "Deny", Action = local.vpc_actions, Resource = "*", Condition = local.own_code },
  ] : statement if local.in_a_vpc]

  assumed_by_lambda = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

################################################################################
# Table, schedule group, queues
################################################################################

resource "aws_dynamodb_table" "this" {
  count = var.create && var.create_table ? 1 : 0

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

  dynamic "server_side_encryption" {
    for_each = var.kms_keys.table == null ? [] : [var.kms_keys.table]

    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
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
  sqs_managed_sse_enabled   = var.kms_keys.queues == null ? true : null
  kms_master_key_id         = var.kms_keys.queues
  tags                      = var.tags
}

resource "aws_sqs_queue" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  name                       = local.dead_letters
  message_retention_seconds  = 1209600
  visibility_timeout_seconds = 6 * var.lambda_timeouts.recorder
  sqs_managed_sse_enabled    = var.kms_keys.queues == null ? true : null
  kms_master_key_id          = var.kms_keys.queues
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
# The functions: log, role and code of each
################################################################################

locals {
  # What it may do in addition to its log, and what differs otherwise.
  functions = { for name, each in {
    recorder = {
      description = "Settles the run of a task that stopped or could not be started, and has it started again"
      timeout     = var.lambda_timeouts.recorder
      environment = local.environment
      statements = concat(
        [{ Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], Resource = local.table_arn }],
        local.writing_table,
        local.using_queues,
        local.launching,
        local.sending_events,
        [
          { Effect = "Allow", Action = "sqs:SendMessage", Resource = local.dead_letters_arn },
          { Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], Resource = local.dead_letters_arn },
        ],
      )
    }
    watchdog = {
      description = "Checks for missed ticks and lost runs"
      timeout     = var.lambda_timeouts.watchdog
      environment = merge(local.environment, { CRONCE_MISSED_AFTER = var.missed_after })
      statements = concat(
        [{ Effect = "Allow", Action = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], Resource = local.table_arn }],
        local.writing_table,
        local.launching,
        local.sending_events,
        [
          { Effect = "Allow", Action = "ecs:ListTasks", Resource = "*", Condition = local.in_clusters },
          { Effect = "Allow", Action = "ecs:DescribeTasks", Resource = local.tasks_arns },
        ],
        [for job in sort(keys(local.pinned)) : { Effect = "Allow", Action = "ecs:DescribeServices", Resource = local.pinned[job].service_arn }],
      )
    }
    rerun = {
      description = "Has a run started that a person asks for"
      timeout     = var.lambda_timeouts.rerun
      environment = { for name, value in local.environment : name => value if name != "CRONCE_PINNED_SERVICES" }
      statements  = concat([{ Effect = "Allow", Action = "dynamodb:GetItem", Resource = local.table_arn }], local.reading_table, local.launching)
    }
    board = {
      description = "Shows the runs on a dashboard"
      timeout     = 15
      environment = { CRONCE_LEDGER = local.url }
      statements  = concat([{ Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:Query"], Resource = local.table_arn }], local.reading_table)
    }
  } : name => each if contains(local.function_names, name) }

  function_names   = concat(var.create ? ["recorder", "watchdog"] : [], local.create_rerun ? ["rerun"] : [], local.create_board ? ["board"] : [])
  existing_arn     = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.name}"
  table_arn        = var.create ? try(aws_dynamodb_table.this[0].arn, local.existing_arn) : null
  dead_letters_arn = try(aws_sqs_queue.dead_letters[0].arn, null)
}

resource "aws_cloudwatch_log_group" "this" {
  for_each = toset(local.function_names)

  region = var.region

  name              = "/aws/lambda/${local.stem}-${each.key}"
  retention_in_days = var.log_retention_in_days
  skip_destroy      = var.keep_logs
  kms_key_id        = var.kms_keys.logs
  tags              = var.tags
}

resource "aws_iam_role" "this" {
  for_each = toset(local.function_names)

  name_prefix          = "cronce-${each.key}-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_lambda
  tags                 = var.tags
}

resource "aws_iam_role_policy" "this" {
  for_each = local.functions

  name = "Function"
  role = aws_iam_role.this[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{ Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.this[each.key].arn}:*" }],
      local.joining_a_vpc,
      each.value.statements,
    )
  })
}

resource "aws_lambda_function" "this" {
  for_each = local.functions

  region = var.region

  function_name     = "${local.stem}-${each.key}"
  description       = each.value.description
  filename          = local.in_s3 ? null : local.archive
  s3_bucket         = try(var.lambda_archive_s3.bucket, null)
  s3_key            = try(var.lambda_archive_s3.key, null)
  s3_object_version = try(var.lambda_archive_s3.object_version, null)
  source_code_hash  = local.sha256
  handler           = "cronce_lambdas.${each.key}.handler"
  runtime           = var.lambda_runtime
  memory_size       = each.key == "board" ? max(var.lambda_memory_size, 1769) : var.lambda_memory_size
  architectures     = var.lambda_architecture == null ? null : [var.lambda_architecture]
  timeout           = each.value.timeout
  role              = aws_iam_role.this[each.key].arn
  tags              = var.tags

  reserved_concurrent_executions = coalesce(var.lambda_reserved_concurrency, -1)

  environment {
    variables = each.value.environment
  }

  dynamic "dead_letter_config" {
    for_each = each.key == "recorder" ? [local.dead_letters_arn] : []

    content {
      target_arn = dead_letter_config.value
    }
  }

  dynamic "vpc_config" {
    for_each = local.in_a_vpc ? [1] : []

    content {
      subnet_ids         = var.lambda_subnet_ids
      security_group_ids = var.lambda_security_group_ids
    }
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.this[each.key].name
  }

  depends_on = [aws_iam_role_policy.this]

  lifecycle {
    precondition {
      condition     = !(local.in_s3 && var.lambda_archive != null)
      error_message = "lambda_archive, lambda_archive_s3: both are given; allowed: at most one of them."
    }
    precondition {
      condition     = alltrue([for arn in var.cluster_arns : startswith(arn, "arn:${local.partition}:ecs:${local.region}:${local.account}:")])
      error_message = "cluster_arns: ${jsonencode(var.cluster_arns)} is not usable; allowed: clusters of this account and Region, ${local.account} and ${local.region}. The events of others never reach the recorder."
    }
    precondition {
      condition     = (length(var.lambda_subnet_ids) > 0) == (length(var.lambda_security_group_ids) > 0)
      error_message = "lambda_subnet_ids, lambda_security_group_ids: allowed: both, or neither"
    }
    precondition {
      condition     = alltrue([for arn in values(var.kms_keys) : arn == null ? true : try(split(":", arn)[3], "") == local.region])
      error_message = "kms_keys: ${jsonencode(var.kms_keys)} is not usable; allowed: keys in the same Region, ${local.region}"
    }
    precondition {
      condition     = local.found
      error_message = "lambda_archive: there is no file ${local.archive}. `cronce lambda-archive FILE` writes it."
    }
  }
}

# The watchdog's next minute makes up for a lost event, and a person waits for the answer of the others: none is tried later.
resource "aws_lambda_function_event_invoke_config" "this" {
  for_each = toset([for name in local.function_names : name if name != "recorder"])

  region = var.region

  function_name                = aws_lambda_function.this[each.key].function_name
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = 60
}

################################################################################
# Recorder: settles the run of a task that stopped, and of a tick that was not delivered
################################################################################

resource "aws_lambda_event_source_mapping" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  event_source_arn        = aws_sqs_queue.dead_letters[0].arn
  function_name           = aws_lambda_function.this["recorder"].arn
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
  arn       = aws_lambda_function.this["recorder"].arn
}

resource "aws_lambda_permission" "task_stopped" {
  count = var.create ? 1 : 0

  region = var.region

  statement_id  = "task-stopped"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["recorder"].function_name
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
  arn       = aws_lambda_function.this["recorder"].arn
}

resource "aws_lambda_permission" "clock_stopped" {
  for_each = aws_cloudwatch_event_rule.clock_stopped

  region = var.region

  statement_id  = "clock-stopped-${substr(sha256(each.key), 0, 12)}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["recorder"].function_name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.arn
}

################################################################################
# Watchdog: checks each minute for missed ticks and lost runs
################################################################################

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
  arn       = aws_lambda_function.this["watchdog"].arn
}

resource "aws_lambda_permission" "each_minute" {
  count = var.create ? 1 : 0

  region = var.region

  statement_id  = "each-minute"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["watchdog"].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.each_minute[0].arn
}

################################################################################
# Warnings
################################################################################

check "archive_differs" {
  assert {
    condition     = !var.create || local.expected == null || local.sha256 == local.expected || contains(var.acknowledged_warnings, "archive-differs")
    error_message = "archive-differs: the archive has the hash ${coalesce(local.sha256, "(no file)")}, not ${coalesce(local.expected, "(none)")}, which is that of the version of this module or the one in lambda_archive_sha256. `cronce lambda-archive` of another version, or with another tzdata, wrote it."
  }
}

check "key_of_another_account" {
  assert {
    condition     = !var.create || alltrue([for arn in values(var.kms_keys) : arn == null ? true : try(split(":", arn)[4], "") == local.account]) || contains(var.acknowledged_warnings, "key-of-another-account")
    error_message = "key-of-another-account: the policy of a key in another account must allow this account the same as the policies here (docs/iam.md, Customer-managed keys)."
  }
}
