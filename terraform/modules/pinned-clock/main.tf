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

  derived_group = length(var.ledger.name) <= 64 ? var.ledger.name : "${substr(var.ledger.name, 0, 51)}-${substr(sha256(var.ledger.name), 0, 12)}"
  group         = coalesce(var.ledger.schedule_group, local.derived_group)
  url           = local.external ? null : coalesce(var.ledger.url, "dynamodb://${var.ledger.name}?region=${local.region}")
  table_arn     = coalesce(var.ledger.table_arn, "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.ledger.name}")

  digest = substr(sha256("${var.ledger.name}/${var.job}"), 0, 12)

  # The lease in milliseconds, and in the shortest spelling, as cronce writes it.
  lease_ms = tonumber(regex("^[0-9]+", var.lease)) * { ms = 1, s = 1000, m = 60000, h = 3600000 }[regex("[a-z]+$", var.lease)]
  lease    = local.lease_ms % 3600000 == 0 ? "${local.lease_ms / 3600000}h" : local.lease_ms % 60000 == 0 ? "${local.lease_ms / 60000}m" : local.lease_ms % 1000 == 0 ? "${local.lease_ms / 1000}s" : "${local.lease_ms}ms"

  foreign = var.command != null
  guarded = var.guard_image != null
  command = local.foreign ? concat(["cronce", "pin", "--"], coalesce(var.command, [])) : concat(["cronce", "clock"], var.config_file == null ? [] : ["--config", var.config_file])

  environment = merge(
    var.environment,
    local.external ? {} : { CRONCE_LEDGER = local.url },
    {
      CRONCE_JOB     = var.job
      CRONCE_POLICY  = local.lease_ms == 60000 ? "{}" : jsonencode({ lease = local.lease })
      CRONCE_METRICS = "emf"
    },
    local.foreign ? {} : { CRONCE_SCHEDULE_GROUP = local.group },
    var.config == null ? {} : { CRONCE_CLOCK = jsonencode(var.config) },
  )

  secrets   = merge(var.secrets, local.external ? { CRONCE_LEDGER = var.ledger.url_secret.arn } : {})
  log_group = "/cronce/${replace(var.ledger.name, "/[^A-Za-z0-9_.-]/", "-")}/${var.job}"
  container = merge(
    {
      name            = "clock"
      image           = var.image
      essential       = true
      command         = local.guarded ? var.command : local.command
      environment     = [for name in sort(keys(local.environment)) : { name = name, value = local.environment[name] }]
      linuxParameters = { initProcessEnabled = true, capabilities = {} }
      stopTimeout     = var.stop_timeout
      healthCheck = {
        command     = ["CMD", local.guarded ? "/cronce/cronce" : "cronce", "health"]
        interval    = 10
        timeout     = 5
        retries     = 3
        startPeriod = 60
      }
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = local.log_group
          awslogs-stream-prefix = "clock"
          awslogs-region        = local.region
        }
      }
    },
    length(local.secrets) == 0 ? {} : { secrets = [for name in sort(keys(local.secrets)) : { name = name, valueFrom = local.secrets[name] }] },
  )

  # The images in ECR: account, Region and repository.
  in_ecr = [for found in [for image in compact([var.guard_image, var.image]) : try(regex("^([0-9]{12})\\.dkr\\.ecr\\.([a-z0-9-]+)\\.[a-z.]+/([^:@]+)", image), null)] : found if found != null]
  # A secret's ARN without the JSON key and version that ECS accepts behind it.
  secret_arns    = distinct([for arn in values(var.secrets) : join(":", slice(split(":", arn), 0, 7)) if strcontains(arn, ":secretsmanager:")])
  parameter_arns = distinct([for arn in values(var.secrets) : arn if strcontains(arn, ":ssm:")])

  assumed_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })

  # The jobs that its targets start: while one is paused, its ticks are not sent.
  started     = local.foreign || local.external ? [] : sort(distinct([for name, job in try(var.config.jobs, {}) : try(tostring(job.target.task), name)]))
  sees_pauses = length(local.started) > 0 && length(join(",", local.started)) <= 4000

  # The names are literal: the pattern of `job` admits no wildcard.
  task_statements = concat(
    [for statement in [{
      Effect    = "Allow"
      Action    = concat(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], local.foreign ? ["dynamodb:UpdateItem"] : [])
      Resource  = local.table_arn
      Condition = local.foreign ? { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = [var.job] } } : { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = [var.job, "${var.job}:*"] } }
    }] : statement if !local.external],
    local.sees_pauses ? [{
      Effect    = "Allow"
      Action    = ["dynamodb:GetItem"]
      Resource  = local.table_arn
      Condition = { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = [for name in local.started : replace(name, "$${", "$${$}{")] } }
    }] : [],
    var.ledger.kms_keys.table == null ? [] : [{
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
      Resource  = var.ledger.kms_keys.table
      Condition = { StringEquals = { "kms:ViaService" = "dynamodb.${local.region}.amazonaws.com" } }
    }],
    var.enable_execute_command ? [{
      Effect    = "Allow"
      Action    = ["ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"]
      Resource  = "*"
      Condition = {}
    }] : [],
  )
}

################################################################################
# Log and roles
################################################################################

resource "aws_cloudwatch_log_group" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name              = local.log_group
  retention_in_days = var.log_retention_in_days
  kms_key_id        = var.ledger.kms_keys.logs
  tags              = var.tags
}

resource "aws_iam_role" "task" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-clock-task-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_tasks
  tags                 = var.tags
}

resource "aws_iam_role_policy" "ledger" {
  count = var.create && (!local.external || var.enable_execute_command) ? 1 : 0

  name = "Ledger"
  role = aws_iam_role.task[0].name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [for each in local.task_statements : { for name, value in each : name => value if name != "Condition" || length(value) > 0 }]
  })
}

resource "aws_iam_role_policy" "targets" {
  for_each = var.create ? var.task_role_policies : {}

  name   = each.key
  role   = aws_iam_role.task[0].name
  policy = each.value
}

resource "aws_iam_role" "execution" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-clock-execution-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_tasks
  tags                 = var.tags
}

resource "aws_iam_role_policy" "execution" {
  count = var.create ? 1 : 0

  name = "Execution"
  role = aws_iam_role.execution[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{ Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.this[0].arn}:*" }],
      length(local.in_ecr) == 0 ? [] : [
        {
          Effect   = "Allow"
          Action   = ["ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"]
          Resource = distinct([for each in local.in_ecr : "arn:${local.partition}:ecr:${each[1]}:${each[0]}:repository/${each[2]}"])
        },
        { Effect = "Allow", Action = ["ecr:GetAuthorizationToken"], Resource = ["*"] },
      ],
      length(local.secret_arns) == 0 ? [] : [{ Effect = "Allow", Action = ["secretsmanager:GetSecretValue"], Resource = local.secret_arns }],
      length(local.parameter_arns) == 0 ? [] : [{ Effect = "Allow", Action = ["ssm:GetParameters"], Resource = local.parameter_arns }],
    )
  })
}

resource "aws_iam_role_policy" "url" {
  count = var.create && local.external ? 1 : 0

  name   = "Ledger"
  role   = aws_iam_role.execution[0].name
  policy = var.ledger.url_secret.policy_json
}

################################################################################
# The service with one task
################################################################################

module "guard" {
  source = "../guard"
  count  = local.guarded && local.foreign ? 1 : 0

  image      = var.guard_image
  containers = { clock = local.container }
  pinned     = ["clock"]
}

resource "aws_ecs_task_definition" "this" {
  count = var.create ? 1 : 0

  region = var.region

  family                   = "${substr(var.job, 0, 200)}-${local.digest}"
  cpu                      = tostring(var.cpu)
  memory                   = tostring(var.memory)
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = aws_iam_role.task[0].arn
  execution_role_arn       = aws_iam_role.execution[0].arn
  container_definitions    = length(module.guard) > 0 ? module.guard[0].container_definitions : jsonencode([local.container])
  tags                     = var.tags

  dynamic "runtime_platform" {
    for_each = var.runtime_platform == null ? [] : [var.runtime_platform]

    content {
      operating_system_family = "LINUX"
      cpu_architecture        = runtime_platform.value.cpu_architecture
    }
  }

  dynamic "volume" {
    for_each = module.guard[*].volume_name

    content {
      name = volume.value
    }
  }

  lifecycle {
    precondition {
      condition     = !local.external || var.ledger.schedule_group != null
      error_message = "ledger: no schedule_group; allowed: the whole output `ledger` of the module `external-ledger`, also of another state"
    }
    precondition {
      condition     = !local.guarded || local.foreign
      error_message = "guard_image: allowed: no guard without a command: the image of `cronce clock` has cronce installed"
    }
    precondition {
      condition     = length([for given in [var.config == null, var.config_file == null, var.command == null] : given if !given]) == 1
      error_message = "config, config_file, command: allowed: exactly one of them"
    }
    precondition {
      condition     = local.lease_ms >= 500 && local.lease_ms <= 3600000
      error_message = "lease: ${var.lease} is not usable; allowed: 500ms to 1h"
    }
    precondition {
      # ECS Developer Guide, "Fargate task size": smallest, largest, step.
      condition = try(
        var.memory >= local.sizes[0] && var.memory <= local.sizes[1] && (var.memory - local.sizes[0]) % local.sizes[2] == 0 && !(var.cpu == 256 && var.memory == 1536), false
      )
      error_message = "memory: ${var.memory} is not usable; allowed: ${try("${var.cpu == 256 ? "512, 1024 or 2048" : "${local.sizes[0]} to ${local.sizes[1]} in steps of ${local.sizes[2]}"} with ${var.cpu} CPU units", "a size of Fargate")}"
    }
    precondition {
      condition     = length(jsonencode([local.command, local.environment])) <= 61440
      error_message = "config: ${length(jsonencode([local.command, local.environment]))} characters is not usable; allowed: at most 61440 characters, with command and variables"
    }
  }
}

locals {
  sizes = lookup({
    "256"   = [512, 2048, 512]
    "512"   = [1024, 4096, 1024]
    "1024"  = [2048, 8192, 1024]
    "2048"  = [4096, 16384, 1024]
    "4096"  = [8192, 30720, 1024]
    "8192"  = [16384, 61440, 4096]
    "16384" = [32768, 122880, 8192]
  }, tostring(var.cpu), null)
}

# ECS does not guarantee a single task: the lease does. A deployment stops the old task before it starts the new one.
resource "aws_ecs_service" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name            = var.job
  cluster         = var.cluster_arn
  task_definition = aws_ecs_task_definition.this[0].arn

  desired_count                      = 1
  deployment_minimum_healthy_percent = 0
  deployment_maximum_percent         = 100
  availability_zone_rebalancing      = "DISABLED"
  launch_type                        = length(var.capacity_provider_strategy) > 0 ? null : "FARGATE"
  enable_execute_command             = var.enable_execute_command
  tags                               = var.tags

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  dynamic "capacity_provider_strategy" {
    for_each = var.capacity_provider_strategy

    content {
      capacity_provider = capacity_provider_strategy.value.capacity_provider
      weight            = capacity_provider_strategy.value.weight
      base              = capacity_provider_strategy.value.base
    }
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = length(var.security_group_ids) > 0 ? var.security_group_ids : null
    assign_public_ip = var.assign_public_ip
  }

  # At destroy, the service stops its task while the roles still have their policies.
  depends_on = [aws_iam_role_policy.ledger, aws_iam_role_policy.targets, aws_iam_role_policy.execution, aws_iam_role_policy.url]
}

check "pauses_of_jobs_not_seen" {
  assert {
    condition     = !var.create || length(local.started) == 0 || local.sees_pauses || contains(var.acknowledged_warnings, "pauses-of-jobs-not-seen")
    error_message = "pauses-of-jobs-not-seen: the names of its jobs are too long for a policy. While one of them is paused, the clock still starts its work, which is then refused. Pause CLOCK:JOB as well."
  }
}

check "default_security_group" {
  assert {
    condition     = !var.create || length(var.security_group_ids) > 0 || contains(var.acknowledged_warnings, "default-security-group")
    error_message = "default-security-group: the clock has no security group of its own; ECS takes the VPC's default group, which may allow no outgoing traffic."
  }
}
