locals {
  prefix = coalesce(var.name_prefix, var.ledger.name)

  plain      = replace(var.ledger.name, ".", "-")
  queue_stem = local.plain == var.ledger.name && length(var.ledger.name) <= 66 ? var.ledger.name : "${substr(local.plain, 0, 50)}-${substr(sha256(var.ledger.name), 0, 12)}"

  # Of all jobs: CloudWatch does not sum the metrics of single jobs for an alarm.
  of_ledger = {
    missed        = { metric = "TickMissed", description = "A tick was not delivered" }
    launch_failed = { metric = "LaunchFailed", description = "A task could not be started" }
    lost          = { metric = "RunLost", description = "The owner of a run was gone without a word" }
    held          = { metric = "RunHeld", description = "A run waits for a person (on_lost=HOLD)" }
    given_up      = { metric = "RunGivenUp", description = "No machine starts a run again" }
    unclaimed     = { metric = "RunUnclaimed", description = "A task ended without asking the ledger" }
    not_judged    = { metric = "TicksNotJudged", description = "Nobody knows what became of some ticks" }
    unreadable    = { metric = "RowUnreadable", description = "A row of the ledger cannot be read" }
  }
  of_job = {
    failed        = { metric = "RunFailed", description = "An attempt failed" }
    missed        = { metric = "TickMissed", description = "A tick was not delivered" }
    launch_failed = { metric = "LaunchFailed", description = "A task could not be started" }
    lost          = { metric = "RunLost", description = "The owner of a run was gone without a word" }
  }
  happened = merge(
    { for kind, each in local.of_ledger : kind => merge(each, { dimensions = { Ledger = var.ledger.name } }) },
    merge([
      for job, kinds in var.jobs : {
        for kind, wanted in kinds : "${job}/${kind}" => merge(local.of_job[kind], {
          description = "${local.of_job[kind].description}: ${job}"
          dimensions  = { Ledger = var.ledger.name, Job = job }
        }) if wanted
      }
    ]...),
  )

  queues = {
    dead_letters = { name = "${local.queue_stem}-dead-letters", description = "The recorder cannot settle what it was told" }
    unsettled    = { name = "${local.queue_stem}-unsettled", description = "The recorder could not settle a dead letter in all tries" }
  }

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
