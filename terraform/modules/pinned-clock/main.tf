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

  derived_group = length(var.ledger.name) <= 64 ? var.ledger.name : "${substr(var.ledger.name, 0, 51)}-${substr(sha256(var.ledger.name), 0, 12)}"
  group         = coalesce(var.ledger.schedule_group, local.derived_group)
  url           = coalesce(var.ledger.url, "dynamodb://${var.ledger.name}?region=${local.region}")
  table_arn     = coalesce(var.ledger.table_arn, "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.ledger.name}")

  digest = substr(sha256("${var.ledger.name}/${var.job}"), 0, 12)

  # The lease in milliseconds, and in the shortest spelling, as cronce writes it.
  lease_ms = tonumber(regex("^[0-9]+", var.lease)) * { ms = 1, s = 1000, m = 60000, h = 3600000 }[regex("[a-z]+$", var.lease)]
  lease    = local.lease_ms % 3600000 == 0 ? "${local.lease_ms / 3600000}h" : local.lease_ms % 60000 == 0 ? "${local.lease_ms / 60000}m" : local.lease_ms % 1000 == 0 ? "${local.lease_ms / 1000}s" : "${local.lease_ms}ms"

  foreign = var.command != null
  command = local.foreign ? concat(["cronce", "pin", "--"], coalesce(var.command, [])) : concat(["cronce", "clock"], var.config_file == null ? [] : ["--config", var.config_file])

  environment = merge(
    var.environment,
    {
      CRONCE_LEDGER  = local.url
      CRONCE_JOB     = var.job
      CRONCE_POLICY  = local.lease_ms == 60000 ? "{}" : jsonencode({ lease = local.lease })
      CRONCE_METRICS = "emf"
    },
    local.foreign ? {} : { CRONCE_SCHEDULE_GROUP = local.group },
    var.config == null ? {} : { CRONCE_CLOCK = jsonencode(var.config) },
  )

  container = merge(
    {
      name            = "clock"
      image           = var.image
      essential       = true
      command         = local.command
      environment     = [for name in sort(keys(local.environment)) : { name = name, value = local.environment[name] }]
      linuxParameters = { initProcessEnabled = true, capabilities = {} }
      stopTimeout     = var.stop_timeout
      healthCheck = {
        command     = ["CMD", "cronce", "health"]
        interval    = 10
        timeout     = 5
        retries     = 3
        startPeriod = 60
      }
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = "/cronce/${var.ledger.name}/${var.job}"
          awslogs-stream-prefix = "clock"
          awslogs-region        = local.region
        }
      }
    },
    length(var.secrets) == 0 ? {} : { secrets = [for name in sort(keys(var.secrets)) : { name = name, valueFrom = var.secrets[name] }] },
  )

  # An image in ECR: account, Region and repository.
  in_ecr = try(regex("^([0-9]{12})\\.dkr\\.ecr\\.([a-z0-9-]+)\\.[a-z.]+/([^:@]+)", var.image), null)
  # A secret's ARN without the JSON key and version that ECS accepts behind it.
  secret_arns    = distinct([for arn in values(var.secrets) : join(":", slice(split(":", arn), 0, 7)) if strcontains(arn, ":secretsmanager:")])
  parameter_arns = distinct([for arn in values(var.secrets) : arn if strcontains(arn, ":ssm:")])

  assumed_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })

  # The names are literal: the pattern of `job` admits no wildcard.
  task_statements = concat(
    [{
      Effect    = "Allow"
      Action    = concat(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], local.foreign ? ["dynamodb:UpdateItem"] : [])
      Resource  = local.table_arn
      Condition = local.foreign ? { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = [var.job] } } : { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = [var.job, "${var.job}:*"] } }
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

  name              = "/cronce/${var.ledger.name}/${var.job}"
  retention_in_days = var.log_retention_in_days
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
  count = var.create ? 1 : 0

  name = "Ledger"
  role = aws_iam_role.task[0].name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [for each in local.task_statements : { for name, value in each : name => value if name != "Condition" || length(value) > 0 }]
  })
}

resource "aws_iam_role_policy" "targets" {
  count = var.create && var.task_role_policy_json != null ? 1 : 0

  name   = "Targets"
  role   = aws_iam_role.task[0].name
  policy = var.task_role_policy_json
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
      local.in_ecr == null ? [] : [
        {
          Effect   = "Allow"
          Action   = ["ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"]
          Resource = "arn:${local.partition}:ecr:${local.in_ecr[1]}:${local.in_ecr[0]}:repository/${local.in_ecr[2]}"
        },
        { Effect = "Allow", Action = ["ecr:GetAuthorizationToken"], Resource = "*" },
      ],
      length(local.secret_arns) == 0 ? [] : [{ Effect = "Allow", Action = ["secretsmanager:GetSecretValue"], Resource = local.secret_arns }],
      length(local.parameter_arns) == 0 ? [] : [{ Effect = "Allow", Action = ["ssm:GetParameters"], Resource = local.parameter_arns }],
    )
  })
}

################################################################################
# The service with one task
################################################################################

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
  container_definitions    = jsonencode([local.container])
  tags                     = var.tags

  dynamic "runtime_platform" {
    for_each = var.runtime_platform == null ? [] : [var.runtime_platform]

    content {
      operating_system_family = "LINUX"
      cpu_architecture        = runtime_platform.value.cpu_architecture
    }
  }

  lifecycle {
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
      error_message = "memory: ${var.memory} is not usable; allowed: ${try("${local.sizes[0]} to ${local.sizes[1]} in steps of ${local.sizes[2]} with ${var.cpu} CPU units", "a size of Fargate")}"
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
  depends_on = [aws_iam_role_policy.ledger, aws_iam_role_policy.targets, aws_iam_role_policy.execution]
}

check "default_security_group" {
  assert {
    condition     = !var.create || length(var.security_group_ids) > 0 || contains(var.acknowledged_warnings, "default-security-group")
    error_message = "default-security-group: the clock has no security group of its own; ECS takes the VPC's default group, which may allow no outgoing traffic."
  }
}
