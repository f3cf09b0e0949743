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

  # A ledger in PostgreSQL or Redis: its URL is a secret of the container, and permits everything.
  external = var.ledger.url_secret != null

  # What follows from the ledger's name, as cronce's command line and CDK constructs derive it.
  digest           = substr(sha256(var.ledger.name), 0, 12)
  derived_group    = length(var.ledger.name) <= 64 ? var.ledger.name : "${substr(var.ledger.name, 0, 51)}-${local.digest}"
  plain            = replace(var.ledger.name, ".", "-")
  queue_stem       = local.plain == var.ledger.name && length(var.ledger.name) <= 66 ? var.ledger.name : "${substr(local.plain, 0, 50)}-${local.digest}"
  group            = coalesce(var.ledger.schedule_group, local.derived_group)
  url              = local.external ? null : coalesce(var.ledger.url, "dynamodb://${var.ledger.name}?region=${local.region}")
  table_arn        = coalesce(var.ledger.table_arn, "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.ledger.name}")
  dead_letters_arn = coalesce(var.ledger.dead_letters_arn, "arn:${local.partition}:sqs:${local.region}:${local.account}:${local.queue_stem}-dead-letters")

  # Of a ledger with customer-managed keys: each through one service only.
  keys     = var.ledger.kms_keys
  of_group = { StringLike = { "kms:EncryptionContext:aws:scheduler:schedule:arn" = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule/${local.group}/*" } }
  writing_table = local.keys.table == null ? [] : [{
    Effect    = "Allow"
    Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
    Resource  = local.keys.table
    Condition = { StringEquals = { "kms:ViaService" = "dynamodb.${local.region}.amazonaws.com" } }
  }]
  firing = concat(
    local.keys.schedules == null ? [] : [{ Effect = "Allow", Action = ["kms:Decrypt"], Resource = local.keys.schedules, Condition = local.of_group }],
    local.keys.queues == null ? [] : [{
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = local.keys.queues
      Condition = { StringEquals = { "kms:ViaService" = "sqs.${local.region}.amazonaws.com" } }
    }],
  )
  reading_schedules = local.keys.schedules == null ? [] : [{
    Effect    = "Allow"
    Action    = "kms:Decrypt"
    Resource  = local.keys.schedules
    Condition = merge({ StringEquals = { "kms:ViaService" = "scheduler.${local.region}.amazonaws.com" } }, local.of_group)
  }]

  stem          = coalesce(substr(trim(replace(var.job, "/[^0-9A-Za-z_.-]+/", "-"), "-"), 0, 51), "job")
  schedule_name = "${local.stem}-${substr(sha256(var.job), 0, 12)}"
  cluster_name  = element(split("/", var.cluster_arn), 1)

  # Of a job that only people start: the last moment that EventBridge Scheduler knows. Every schedule needs one.
  on_request = var.schedule == null
  expression = local.on_request ? "at(2199-12-31T23:59:59)" : var.schedule

  # The first schedule defines the job. The name of a further one follows from its expression.
  schedules = merge(
    { first = { name = local.schedule_name, expression = local.expression } },
    { for each in var.further_schedules : each => { name = "${local.stem}.${substr(sha256("${local.schedule_name} ${each}"), 0, 12)}", expression = each } },
  )

  # Durations in milliseconds, and in the shortest spelling, as cronce writes them.
  unit = { ms = 1, s = 1000, m = 60000, h = 3600000, d = 86400000 }
  milliseconds = {
    for name, text in { starting_deadline = var.starting_deadline, active_deadline = var.active_deadline, lease = var.lease } :
    name => text == null ? null : tonumber(regex("^[0-9]+", text)) * local.unit[regex("[a-z]+$", text)]
  }
  spelled = {
    for name, ms in local.milliseconds : name => ms == null ? null : (
      ms == 0 ? "0ms" : ms % 86400000 == 0 ? "${ms / 86400000}d" : ms % 3600000 == 0 ? "${ms / 3600000}h" : ms % 60000 == 0 ? "${ms / 60000}m" : ms % 1000 == 0 ? "${ms / 1000}s" : "${ms}ms"
    )
  }
  policy = merge(
    var.concurrency_policy == "FORBID" ? {} : { concurrency_policy = var.concurrency_policy },
    var.starting_deadline == null ? {} : { starting_deadline = local.spelled.starting_deadline },
    var.active_deadline == null ? {} : { active_deadline = local.spelled.active_deadline },
    var.backoff_limit == 0 ? {} : { backoff_limit = var.backoff_limit },
    var.suspend ? { suspend = true } : {},
    var.catch_up == "NONE" ? {} : { catch_up = var.catch_up },
    var.on_lost == "RETRY" ? {} : { on_lost = var.on_lost },
    local.milliseconds.lease == 60000 ? {} : { lease = local.spelled.lease },
    var.exclusion_group == null ? {} : { exclusion_group = var.exclusion_group },
  )

  # As cronce writes a duration: in the largest unit that fits.
  longest_without_success = var.no_success_for_seconds == null ? null : var.no_success_for_seconds == 0 ? "0ms" : [
    for unit in [{ seconds = 86400, name = "d" }, { seconds = 3600, name = "h" }, { seconds = 60, name = "m" }, { seconds = 1, name = "s" }] :
    "${var.no_success_for_seconds / unit.seconds}${unit.name}" if var.no_success_for_seconds % unit.seconds == 0
  ][0]

  environment = merge(
    var.environment,
    local.external ? {} : { CRONCE_LEDGER = local.url },
    {
      CRONCE_JOB     = var.job
      CRONCE_POLICY  = jsonencode(local.policy)
      CRONCE_TRIGGER = "schedule"
    },
    local.on_request ? {} : {
      CRONCE_SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"
      CRONCE_EXECUTION_ID   = "<aws.scheduler.execution-id>"
    },
    length(var.further_schedules) == 0 ? {} : { CRONCE_FURTHER_SCHEDULES = join("; ", var.further_schedules) },
    var.period == "date" ? { CRONCE_DATE_IN = var.timezone } : {},
    local.longest_without_success == null ? {} : { CRONCE_NO_SUCCESS_FOR = local.longest_without_success },
    var.metrics ? { CRONCE_METRICS = "emf" } : {},
  )
  override = merge(
    { name = var.container_name, environment = [for name in sort(keys(local.environment)) : { name = name, value = local.environment[name] }] },
    var.command == null ? {} : { command = var.command },
    { for name, value in { cpu = var.size.container_cpu, memory = var.size.container_memory, memoryReservation = var.size.container_memory_reservation } : name => value if value != null },
  )
  task_size = { for name, value in { cpu = var.size.cpu, memory = var.size.memory } : name => tostring(value) if value != null }
  # CPU units -> MiB that Fargate has with them: least, most, step.
  fargate = { "256" = [512, 2048, 512], "512" = [1024, 4096, 1024], "1024" = [2048, 8192, 1024], "2048" = [4096, 16384, 1024], "4096" = [8192, 30720, 1024], "8192" = [16384, 61440, 4096], "16384" = [32768, 122880, 8192] }
  memory  = var.size.cpu == null ? null : lookup(local.fargate, tostring(var.size.cpu), null)
  # jsonencode escapes < and >, and EventBridge Scheduler would not find its two placeholders. Only these two are restored:
  # the rest stays JSON whatever the values contain.
  input = replace(
    replace(jsonencode(merge(local.task_size, { containerOverrides = [local.override] })), "\\u003caws.scheduler.scheduled-time\\u003e", "<aws.scheduler.scheduled-time>"),
    "\\u003caws.scheduler.execution-id\\u003e", "<aws.scheduler.execution-id>",
  )

  on_fargate_providers = length([for each in var.capacity_provider_strategy : each if startswith(each.capacity_provider, "FARGATE")]) > 0
  launch_type          = length(var.capacity_provider_strategy) > 0 ? var.launch_type : coalesce(var.launch_type, "FARGATE")
  on_fargate           = local.launch_type == "FARGATE" || local.on_fargate_providers

  # EventBridge Scheduler's default, 185 attempts in 24 hours, starts a 06:00 job a day late.
  rate          = local.on_request ? null : try(regex("^rate\\(([0-9]+) (minute|hour|day)s?\\)$", var.schedule), null)
  interval      = local.rate == null ? 3600 : tonumber(local.rate[0]) * { minute = 60, hour = 3600, day = 86400 }[local.rate[1]]
  default_age   = local.milliseconds.starting_deadline == null ? min(local.interval, 3600) : floor(local.milliseconds.starting_deadline / 1000)
  longest_age   = min(max(local.default_age, 60), 86400)
  maximum_age   = coalesce(var.retry_policy.maximum_event_age_in_seconds, local.longest_age)
  maximum_tries = coalesce(var.retry_policy.maximum_retry_attempts, min(ceil(local.maximum_age / 60), 185))

  window_minutes = var.flexible_window == null ? 0 : tonumber(regex("^[0-9]+", var.flexible_window)) * (endswith(var.flexible_window, "h") ? 60 : 1)

  has_revision = can(regex(":[0-9]+$", var.task_definition_arn))
  tagged       = var.propagate_tags || var.enable_ecs_managed_tags || length(var.task_tags) > 0
  roles        = compact([var.task_role_arn, var.execution_role_arn])
  tasks_arn    = "arn:${local.partition}:ecs:${local.region}:${local.account}:task/${local.cluster_name}/*"

  start_statements = concat(
    [
      {
        Effect = "Allow"
        Action = "ecs:RunTask"
        # ECS denies a resource without a revision.
        Resource  = local.has_revision ? var.task_definition_arn : "${var.task_definition_arn}:*"
        Condition = { ArnEquals = { "ecs:cluster" = var.cluster_arn } }
      },
      {
        Effect    = "Allow"
        Action    = "iam:PassRole"
        Resource  = local.roles
        Condition = { StringEquals = { "iam:PassedToService" = "ecs-tasks.amazonaws.com" } }
      },
    ],
    local.tagged ? [{
      Effect    = "Allow"
      Action    = "ecs:TagResource"
      Resource  = local.tasks_arn
      Condition = { StringEquals = { "ecs:CreateAction" = "RunTask" } }
    }] : [],
  )

  needs_claim_policy = !local.external || var.enable_execute_command
  claim_policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [for statement in [{
        Effect   = "Allow"
        Action   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        Resource = local.table_arn
        # IAM expands a dollar sign with a brace in a value.
        Condition = { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = concat([replace(var.job, "$${", "$${$}{")], var.exclusion_group == null ? [] : ["cronce:group:${var.exclusion_group}"]) } }
      }] : statement if !local.external],
      local.writing_table,
      var.enable_execute_command ? [{
        Effect   = "Allow"
        Action   = ["ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"]
        Resource = "*"
      }] : [],
    )
  })

  run_policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        { Effect = "Allow", Action = "scheduler:GetSchedule", Resource = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule/${local.group}/*" },
        { Effect = "Allow", Action = "scheduler:ListSchedules", Resource = "*" },
      ],
      local.reading_schedules,
      local.start_statements,
      [{ Effect = "Allow", Action = "ecs:DescribeTasks", Resource = local.tasks_arn }],
    )
  })
}

################################################################################
# The role with which EventBridge Scheduler starts the task
################################################################################

resource "aws_iam_role" "this" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-"
  path                 = "/cronce/${local.group}/"
  permissions_boundary = var.iam_role_permissions_boundary
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        StringEquals = {
          "aws:SourceAccount" = local.account
          "aws:SourceArn"     = "arn:${local.partition}:scheduler:${local.region}:${local.account}:schedule-group/${local.group}"
        }
      }
    }]
  })
}

resource "aws_iam_role_policy" "start" {
  count = var.create ? 1 : 0

  name = "Start"
  role = aws_iam_role.this[0].name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.start_statements, [{ Effect = "Allow", Action = "sqs:SendMessage", Resource = local.dead_letters_arn }], local.firing)
  })
}

################################################################################
# The permission to claim runs of this job: the task role's on the table, or the execution role's to read the URL
################################################################################

resource "aws_iam_role_policy" "claim" {
  count = var.create && var.create_claim_policy && local.needs_claim_policy ? 1 : 0

  name_prefix = "cronce-claim-"
  role        = reverse(split("/", var.task_role_arn))[0]
  policy      = local.claim_policy
}

resource "aws_iam_role_policy" "url" {
  count = var.create && var.create_claim_policy && local.external ? 1 : 0

  name_prefix = "cronce-ledger-"
  role        = reverse(split("/", coalesce(var.execution_role_arn, "none")))[0]
  policy      = var.ledger.url_secret.policy_json

  lifecycle {
    precondition {
      condition     = var.execution_role_arn != null
      error_message = "execution_role_arn: null is not usable; allowed: the task definition's execution role, which reads the ledger's URL"
    }
  }
}

################################################################################
# The schedules
################################################################################

moved {
  from = aws_scheduler_schedule.this[0]
  to   = aws_scheduler_schedule.this["first"]
}

resource "aws_scheduler_schedule" "this" {
  for_each = var.create ? local.schedules : {}

  region = var.region

  name                         = each.value.name
  group_name                   = local.group
  description                  = local.on_request ? coalesce(var.description, "Started by people only") : var.description
  schedule_expression          = each.value.expression
  schedule_expression_timezone = var.timezone
  start_date                   = var.start
  end_date                     = var.end
  state                        = var.enabled ? "ENABLED" : "DISABLED"
  kms_key_arn                  = local.keys.schedules

  flexible_time_window {
    mode                      = var.flexible_window == null ? "OFF" : "FLEXIBLE"
    maximum_window_in_minutes = var.flexible_window == null ? null : local.window_minutes
  }

  target {
    arn      = var.cluster_arn
    role_arn = aws_iam_role.this[0].arn
    input    = local.input

    dead_letter_config {
      arn = local.dead_letters_arn
    }

    retry_policy {
      maximum_event_age_in_seconds = local.maximum_age
      maximum_retry_attempts       = local.maximum_tries
    }

    ecs_parameters {
      task_definition_arn    = var.task_definition_arn
      task_count             = 1
      launch_type            = local.launch_type
      platform_version       = var.platform_version
      propagate_tags         = var.propagate_tags ? "TASK_DEFINITION" : null
      tags                   = length(var.task_tags) > 0 ? var.task_tags : null
      enable_execute_command = var.enable_execute_command ? true : null

      enable_ecs_managed_tags = var.enable_ecs_managed_tags ? true : null

      dynamic "capacity_provider_strategy" {
        for_each = var.capacity_provider_strategy

        content {
          capacity_provider = capacity_provider_strategy.value.capacity_provider
          weight            = capacity_provider_strategy.value.weight
          base              = capacity_provider_strategy.value.base
        }
      }

      dynamic "network_configuration" {
        for_each = length(var.subnet_ids) > 0 ? [1] : []

        content {
          subnets          = var.subnet_ids
          security_groups  = length(var.security_group_ids) > 0 ? var.security_group_ids : null
          assign_public_ip = var.assign_public_ip
        }
      }
    }
  }

  # Without its policies, a tick that fires at once fails.
  depends_on = [aws_iam_role_policy.start, aws_iam_role_policy.claim, aws_iam_role_policy.url]

  lifecycle {
    precondition {
      condition     = !local.external || (var.ledger.schedule_group != null && var.ledger.dead_letters_arn != null)
      error_message = "ledger: no schedule_group or dead_letters_arn; allowed: the whole output `ledger` of the module `external-ledger`, also of another state"
    }
    precondition {
      condition     = var.launch_type == null || length(var.capacity_provider_strategy) == 0
      error_message = "launch_type: ${coalesce(var.launch_type, "null")} is not usable; allowed: no launch type together with capacity_provider_strategy"
    }
    precondition {
      condition     = !local.on_fargate || length(var.subnet_ids) > 0
      error_message = "subnet_ids: 0 subnets is not usable; allowed: 1 to 16 subnets: a task on Fargate has its own network interface"
    }
    precondition {
      condition     = !local.on_fargate || var.execution_role_arn != null
      error_message = "execution_role_arn: null is not usable; allowed: the task definition's execution role: a task on Fargate cannot pull its image or write its log without it"
    }
    precondition {
      condition     = local.on_fargate || !var.assign_public_ip
      error_message = "assign_public_ip: true is not usable; allowed: false: only a task on Fargate can have one"
    }
    precondition {
      condition     = length(var.subnet_ids) > 0 || (length(var.security_group_ids) == 0 && !var.assign_public_ip)
      error_message = "security_group_ids, assign_public_ip: allowed: no value: only tasks in the network mode awsvpc have their own interface"
    }
    precondition {
      condition     = local.on_fargate || var.platform_version == null
      error_message = "platform_version: ${coalesce(var.platform_version, "null")} is not usable; allowed: no platform version: only Fargate has one"
    }
    precondition {
      condition     = !local.on_fargate || var.size.cpu == null || local.memory != null
      error_message = "size: ${jsonencode(var.size)} is not usable; allowed: ${join(", ", sort(keys(local.fargate)))} CPU units on Fargate"
    }
    precondition {
      condition     = !local.on_fargate || local.memory == null || var.size.memory == null ? true : var.size.memory >= local.memory[0] && var.size.memory <= local.memory[1] && (var.size.memory - local.memory[0]) % local.memory[2] == 0 && !(var.size.cpu == 256 && var.size.memory == 1536)
      error_message = "size: ${jsonencode(var.size)} is not usable; allowed: the memory that Fargate has with these CPU units"
    }
    precondition {
      condition     = local.on_fargate || (coalesce(var.size.cpu, 128) >= 128 && coalesce(var.size.cpu, 128) <= 196608)
      error_message = "size: ${jsonencode(var.size)} is not usable; allowed: 128 to 196608 CPU units"
    }
    precondition {
      condition     = var.exclusion_group == null || contains(["FORBID", "WAIT"], var.concurrency_policy)
      error_message = "exclusion_group: ${jsonencode(var.exclusion_group)} is not usable; allowed: only with concurrency_policy FORBID or WAIT, not ${var.concurrency_policy}"
    }
    precondition {
      condition     = var.start == null || var.end == null ? true : timecmp(var.start, var.end) < 0
      error_message = "end: ${coalesce(var.end, "null")} is not usable; allowed: an instant after the start ${coalesce(var.start, "null")}"
    }
    precondition {
      condition     = length(var.further_schedules) == 0 ? true : startswith(coalesce(var.schedule, "none"), "cron(") && !contains(var.further_schedules, var.schedule)
      error_message = "further_schedules: ${jsonencode(var.further_schedules)} is not usable; allowed: others than schedule, which is then a cron(...) too"
    }
    precondition {
      condition     = !local.on_request || (var.start == null && var.end == null && var.timezone == "UTC" && var.period == "time")
      error_message = "timezone, start, end, period: allowed: none of them for a job without a schedule"
    }
    precondition {
      condition     = local.milliseconds.lease >= 500 && local.milliseconds.lease <= 3600000
      error_message = "lease: ${var.lease} is not usable; allowed: 500ms to 1h"
    }
    precondition {
      condition     = alltrue([for name in ["starting_deadline", "active_deadline"] : local.milliseconds[name] == null ? true : local.milliseconds[name] >= 1000 && local.milliseconds[name] <= 366 * 86400000])
      error_message = "starting_deadline, active_deadline: allowed: at least 1s, at most 366d"
    }
    precondition {
      condition     = local.milliseconds.starting_deadline == null ? true : local.window_minutes * 60000 < local.milliseconds.starting_deadline
      error_message = "flexible_window: ${coalesce(var.flexible_window, "null")} is not usable; allowed: less than the starting_deadline of ${coalesce(local.spelled.starting_deadline, "null")}; otherwise runs start too late by design"
    }
    precondition {
      condition     = length(local.input) <= 7680
      error_message = "environment: ${length(local.input)} characters is not usable; allowed: at most 7680 characters, with the command and CRONCE_*"
    }
  }
}

################################################################################
# Warnings
################################################################################

check "rate_without_start" {
  assert {
    condition     = !var.create || !var.enabled || local.rate == null || var.start != null || contains(var.acknowledged_warnings, "rate-without-start")
    error_message = "rate-without-start: EventBridge Scheduler counts ${local.expression} from a moment that it does not report. Missed ticks are therefore neither reported nor caught up. Set start, or use a cron expression."
  }
}

check "starting_deadline_beyond_retries" {
  assert {
    condition     = !var.create || local.milliseconds.starting_deadline == null || coalesce(local.milliseconds.starting_deadline, 0) <= 86400000 || contains(var.acknowledged_warnings, "starting-deadline-beyond-retries")
    error_message = "starting-deadline-beyond-retries: A run may start up to ${coalesce(local.spelled.starting_deadline, "null")} late, but EventBridge Scheduler retries for at most 24 hours. Later, only catch_up starts it."
  }
}

check "starting_deadline_too_short" {
  assert {
    condition     = !var.create || coalesce(local.milliseconds.starting_deadline, 60000) >= 60000 || contains(var.acknowledged_warnings, "starting-deadline-too-short")
    error_message = "starting-deadline-too-short: A run may start at most ${coalesce(local.spelled.starting_deadline, "null")} late, but EventBridge Scheduler is exact to a minute and a task takes about one to start. Most runs will be MISSED(too_late)."
  }
}

check "task_definition_without_revision" {
  assert {
    condition     = !var.create || local.has_revision || contains(var.acknowledged_warnings, "task-definition-without-revision")
    error_message = "task-definition-without-revision: ${var.task_definition_arn} has no revision: each run uses the latest one."
  }
}

check "default_security_group" {
  assert {
    condition     = !var.create || length(var.subnet_ids) == 0 || length(var.security_group_ids) > 0 || contains(var.acknowledged_warnings, "default-security-group")
    error_message = "default-security-group: the task has no security group of its own; ECS takes the VPC's default group, which may allow no outgoing traffic."
  }
}

check "shell_ignores_sigterm" {
  assert {
    condition     = !var.create || !try(contains(["sh", "bash", "ash", "dash", "/bin/sh", "/bin/bash", "/bin/ash", "/bin/dash"], var.command[0]) && contains(slice(var.command, 1, length(var.command) - 1), "-c") && !startswith(trimspace(reverse(var.command)[0]), "exec "), false) || contains(var.acknowledged_warnings, "shell-ignores-sigterm")
    error_message = "shell-ignores-sigterm: A shell that is the container's first process does not forward SIGTERM, so the run cannot be stopped cleanly. Run it under `cronce exec --`, or begin its last command with `exec`."
  }
}
