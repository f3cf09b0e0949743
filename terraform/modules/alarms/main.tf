locals {
  prefix = coalesce(var.name_prefix, var.ledger.name)

  # In PostgreSQL or Redis: without the Lambda functions, and what only they report.
  external     = var.ledger.url_secret != null
  of_functions = local.external ? ["launch_failed", "unclaimed"] : []

  plain      = replace(var.ledger.name, "/[^A-Za-z0-9_-]/", "-")
  queue_stem = local.plain == var.ledger.name && length(var.ledger.name) <= 66 ? var.ledger.name : "${substr(local.plain, 0, 50)}-${substr(sha256(var.ledger.name), 0, 12)}"

  # Of all jobs: CloudWatch does not sum the metrics of single jobs for an alarm.
  of_ledger = {
    failed        = { metric = "RunFailed", description = "An attempt failed" }
    missed        = { metric = "TickMissed", description = "A tick was not delivered" }
    launch_failed = { metric = "LaunchFailed", description = "A task could not be started" }
    lost          = { metric = "RunLost", description = "The owner of a run was gone without a word" }
    held          = { metric = "RunHeld", description = "A run waits for a person (on_lost=HOLD)" }
    given_up      = { metric = "RunGivenUp", description = "No machine starts a run again" }
    unclaimed     = { metric = "RunUnclaimed", description = "A task ended without asking the ledger" }
    not_judged    = { metric = "TicksNotJudged", description = "Nobody knows what became of some ticks" }
    unreadable    = { metric = "RowUnreadable", description = "A row of the ledger or the schedule of a job cannot be read" }
    too_long      = { metric = "RunTooLong", description = "A run takes longer than it may" }
    no_success    = { metric = "NoSuccess", description = "A job has had no success for too long" }
  }
  of_job = {
    failed        = { metric = "RunFailed", description = "An attempt failed" }
    missed        = { metric = "TickMissed", description = "A tick was not delivered" }
    launch_failed = { metric = "LaunchFailed", description = "A task could not be started" }
    lost          = { metric = "RunLost", description = "The owner of a run was gone without a word" }
  }
  happened = merge(
    { for kind, each in local.of_ledger : kind => merge(each, { dimensions = { Ledger = var.ledger.name } }) if !contains(local.of_functions, kind) },
    merge([
      for job, kinds in var.jobs : {
        for kind, wanted in kinds : "${job}/${kind}" => merge(local.of_job[kind], {
          description = "${local.of_job[kind].description}: ${job}"
          dimensions  = { Ledger = var.ledger.name, Job = job }
        }) if wanted && !contains(local.of_functions, kind)
      }
    ]...),
  )

  queues = { for kind, each in {
    dead_letters = { name = "${local.queue_stem}-dead-letters", description = "The recorder cannot settle what it was told" }
    unsettled    = { name = "${local.queue_stem}-unsettled", description = "The recorder could not settle a dead letter in all tries" }
  } : kind => each if !local.external }

  # As the module `ledger` names its functions.
  function_stem = local.plain == var.ledger.name && length(var.ledger.name) <= 50 ? var.ledger.name : "${substr(local.plain, 0, 37)}-${substr(sha256(var.ledger.name), 0, 12)}"

  silences = merge(
    { for job, clock in var.clocks : "${job}/no_leader" => { metric = "Leading", dimensions = { Ledger = var.ledger.name, Job = job }, within = clock.no_leader, description = "No clock holds the lease for ${clock.no_leader}" } if clock.no_leader != null },
    { for job, clock in var.clocks : "${job}/no_tick" => { metric = "TickDispatched", dimensions = { Ledger = var.ledger.name, Clock = job }, within = clock.no_tick, description = "No tick was sent for ${clock.no_tick}" } if clock.no_tick != null },
  )
  seconds = { for name, each in local.silences : name => tonumber(trim(each.within, "smhd")) * { s = 1, m = 60, h = 3600, d = 86400 }[substr(each.within, -1, 1)] }
  # CloudWatch evaluates one day, or seven with data points of at least an hour.
  period = { for name, seconds in local.seconds : name => seconds <= 7200 ? 60 : seconds <= 86400 ? 300 : 3600 }
}

resource "aws_cloudwatch_metric_alarm" "happened" {
  for_each = { for name, each in local.happened : name => each if var.create }

  region = var.region

  alarm_name          = "${local.prefix}/${each.key}"
  alarm_description   = each.value.description
  namespace           = "cronce"
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.ok_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  for_each = { for name, each in local.queues : name => each if var.create }

  region = var.region

  alarm_name          = "${local.prefix}/${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = each.value.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.ok_actions
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "rerun_errors" {
  count = var.create && var.rerun_function ? 1 : 0

  region = var.region

  alarm_name          = "${local.prefix}/rerun_errors"
  alarm_description   = "The rerun function could not answer a person"
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = "${local.function_stem}-rerun" }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.ok_actions
  tags                = var.tags

  lifecycle {
    precondition {
      condition     = !local.external
      error_message = "rerun_function: true is not usable; allowed: false, for a ledger in PostgreSQL or Redis"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "silence" {
  for_each = { for name, each in local.silences : name => each if var.create }

  region = var.region

  alarm_name          = "${local.prefix}/${each.key}"
  alarm_description   = each.value.description
  namespace           = "cronce"
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = "Sum"
  period              = local.period[each.key]
  evaluation_periods  = ceil(local.seconds[each.key] / local.period[each.key])
  threshold           = 1
  comparison_operator = "LessThanThreshold"
  treat_missing_data  = "breaching"
  alarm_actions       = var.alarm_actions
  ok_actions          = var.ok_actions
  tags                = var.tags
}

################################################################################
# What people are told about single runs: job, period and why
################################################################################

locals {
  told = toset(concat(
    var.create && length(var.notify_topic_arns) > 0 ? ["topic"] : [],
    var.create && var.webhook != null ? ["webhook"] : [],
  ))
}

data "aws_caller_identity" "this" {
  count = length(local.told) > 0 ? 1 : 0
}

resource "aws_cloudwatch_event_rule" "notices" {
  for_each = local.told

  region = var.region

  name        = "${local.function_stem}-notices${each.key == "topic" ? "" : "-${each.key}"}"
  description = "Tells people of runs that need one"
  tags        = var.tags

  event_pattern = jsonencode({
    account = [data.aws_caller_identity.this[0].account_id]
    source  = ["cronce"]
    detail-type = [
      "Cronce Run Missed", "Cronce Run Held", "Cronce Run Given Up", "Cronce Run Unclaimed",
      "Cronce Ticks Not Judged", "Cronce Schedule Gone", "Cronce Pinned Count Wrong",
      "Cronce Run Too Long", "Cronce Job Without Success",
    ]
    detail = { ledger = [var.ledger.name] }
  })
}

resource "aws_cloudwatch_event_target" "notices" {
  count = var.create ? length(var.notify_topic_arns) : 0

  region = var.region

  rule      = aws_cloudwatch_event_rule.notices["topic"].name
  target_id = count.index == 0 ? "topic" : "topic-${count.index + 1}"
  arn       = var.notify_topic_arns[count.index]

  input_transformer {
    input_paths    = { detail-text = "$.detail.text" }
    input_template = "\"<detail-text>\""
  }
}

# A webhook, such as Slack's. Its secret is in the connection, and not in the state of this module.
resource "aws_cloudwatch_event_api_destination" "webhook" {
  count = contains(local.told, "webhook") ? 1 : 0

  region = var.region

  name                             = "${local.function_stem}-notices"
  description                      = "Takes notices of runs"
  connection_arn                   = var.webhook.connection_arn
  invocation_endpoint              = var.webhook.url
  http_method                      = "POST"
  invocation_rate_limit_per_second = 1
}

resource "aws_iam_role" "webhook" {
  count = contains(local.told, "webhook") ? 1 : 0

  name_prefix          = "cronce-webhook-"
  permissions_boundary = var.iam_role_permissions_boundary
  tags                 = var.tags
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "events.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "webhook" {
  count = contains(local.told, "webhook") ? 1 : 0

  name = "Webhook"
  role = aws_iam_role.webhook[0].name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "events:InvokeApiDestination", Resource = aws_cloudwatch_event_api_destination.webhook[0].arn }]
  })
}

resource "aws_cloudwatch_event_target" "webhook" {
  count = contains(local.told, "webhook") ? 1 : 0

  region = var.region

  rule      = aws_cloudwatch_event_rule.notices["webhook"].name
  target_id = "webhook"
  arn       = aws_cloudwatch_event_api_destination.webhook[0].arn
  role_arn  = aws_iam_role.webhook[0].arn

  retry_policy {
    maximum_event_age_in_seconds = 3600
    maximum_retry_attempts       = 10
  }

  input_transformer {
    input_paths    = { detail-text = "$.detail.text" }
    input_template = var.webhook.channel == null ? "{\"text\":<detail-text>}" : "{\"channel\":${jsonencode(var.webhook.channel)},\"text\":<detail-text>}"
  }
}
