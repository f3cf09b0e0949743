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
  here      = "${local.region}:${local.account}"

  # The other names follow from the group's, which a ledger in DynamoDB never has by default.
  plain = replace(var.name, "/[^A-Za-z0-9_-]/", "-")
  group = coalesce(var.schedule_group_name, local.plain == var.name && length(var.name) <= 55 ? "${var.name}-external" : "${substr(local.plain, 0, 42)}-${substr(sha256(var.name), 0, 12)}-external")
  stem  = replace(local.group, ".", "-")

  # A secret's ARN without the JSON key and version that ECS accepts behind it.
  is_parameter = strcontains(var.url_secret_arn, ":ssm:")
  reading_url = concat(
    [{
      Effect   = "Allow"
      Action   = local.is_parameter ? "ssm:GetParameters" : "secretsmanager:GetSecretValue"
      Resource = local.is_parameter ? var.url_secret_arn : join(":", slice(split(":", var.url_secret_arn), 0, 7))
    }],
    [for statement in [{
      Effect    = "Allow"
      Action    = "kms:Decrypt"
      Resource  = var.url_kms_key_arn
      Condition = { StringEquals = { "kms:ViaService" = "${local.is_parameter ? "ssm" : "secretsmanager"}.${local.region}.amazonaws.com" } }
    }] : statement if var.url_kms_key_arn != null],
  )

  url_policy = jsonencode({ Version = "2012-10-17", Statement = local.reading_url })

  # The image, if it is in ECR: account, Region and repository.
  in_ecr = try(regex("^([0-9]{12})\\.dkr\\.ecr\\.([a-z0-9-]+)\\.[a-z.]+/([^:@]+)", var.image), null)

  # The tasks that the watchdog may look at.
  cluster_names = length(var.cluster_arns) == 0 ? ["*"] : [for arn in var.cluster_arns : split("/", arn)[1]]
  tasks_arns    = [for name in local.cluster_names : "arn:${local.partition}:ecs:${local.here}:task/${name}/*"]
  in_clusters = { for operator, clusters in {
    ArnEquals = var.cluster_arns
    ArnLike   = length(var.cluster_arns) == 0 ? ["arn:${local.partition}:ecs:${local.here}:cluster/*"] : []
  } : operator => { "ecs:cluster" = clusters } if length(clusters) > 0 }

  assumed_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })

  environment = {
    CRONCE_SCHEDULE_GROUP = try(aws_scheduler_schedule_group.this[0].name, null)
    CRONCE_MISSED_AFTER   = var.missed_after
    CRONCE_METRICS        = "emf"
  }
  secret = { name = "CRONCE_LEDGER", valueFrom = var.url_secret_arn }
}

################################################################################
# Schedule group, and the queue for ticks whose task could not be started
################################################################################

resource "aws_scheduler_schedule_group" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name = local.group
  tags = var.tags
}

resource "aws_sqs_queue" "dead_letters" {
  count = var.create ? 1 : 0

  region = var.region

  name                      = "${local.stem}-dead-letters"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
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
# Log and roles of the watchdog
################################################################################

resource "aws_cloudwatch_log_group" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name              = "/cronce/${local.stem}/watchdog"
  retention_in_days = var.log_retention_in_days
  tags              = var.tags
}

resource "aws_iam_role" "task" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-watchdog-task-"
  permissions_boundary = var.iam_role_permissions_boundary
  assume_role_policy   = local.assumed_by_tasks
  tags                 = var.tags
}

# Start runs by one-shot schedules with the roles of their jobs, send events, and look at tasks.
resource "aws_iam_role_policy" "task" {
  count = var.create ? 1 : 0

  name = "Watchdog"
  role = aws_iam_role.task[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = ["scheduler:CreateSchedule", "scheduler:GetSchedule"], Resource = "arn:${local.partition}:scheduler:${local.here}:schedule/${local.group}/*" },
      { Effect = "Allow", Action = "scheduler:ListSchedules", Resource = "*" },
      {
        Effect    = "Allow"
        Action    = "iam:PassRole"
        Resource  = "arn:${local.partition}:iam::${local.account}:role/cronce/${local.group}/*"
        Condition = { StringEquals = { "iam:PassedToService" = "scheduler.amazonaws.com" } }
      },
      {
        Effect    = "Allow"
        Action    = "events:PutEvents"
        Resource  = "arn:${local.partition}:events:${local.here}:event-bus/default"
        Condition = { StringEquals = { "events:source" = "cronce" } }
      },
      { Effect = "Allow", Action = "ecs:ListTasks", Resource = "*", Condition = local.in_clusters },
      { Effect = "Allow", Action = "ecs:DescribeTasks", Resource = local.tasks_arns },
    ]
  })
}

resource "aws_iam_role" "execution" {
  count = var.create ? 1 : 0

  name_prefix          = "cronce-watchdog-execution-"
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
          Resource = ["arn:${local.partition}:ecr:${try(local.in_ecr[1], "")}:${try(local.in_ecr[0], "")}:repository/${try(local.in_ecr[2], "")}"]
        },
        { Effect = "Allow", Action = ["ecr:GetAuthorizationToken"], Resource = ["*"] },
      ],
      local.reading_url,
    )
  })
}

################################################################################
# The watchdog
################################################################################

resource "aws_ecs_task_definition" "this" {
  count = var.create ? 1 : 0

  region = var.region

  family                   = "${local.stem}-watchdog"
  cpu                      = "256"
  memory                   = "512"
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = aws_iam_role.task[0].arn
  execution_role_arn       = aws_iam_role.execution[0].arn
  tags                     = var.tags

  container_definitions = jsonencode([{
    name            = "watchdog"
    image           = var.image
    essential       = true
    command         = ["cronce", "watchdog"]
    environment     = [for name in sort(keys(local.environment)) : { name = name, value = local.environment[name] }]
    secrets         = [local.secret]
    linuxParameters = { initProcessEnabled = true, capabilities = {} }
    healthCheck = {
      command     = ["CMD", "cronce", "health", "--name", "cronce:watchdog"]
      interval    = 30
      timeout     = 5
      retries     = 3
      startPeriod = 60
    }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.this[0].name
        awslogs-stream-prefix = "watchdog"
        awslogs-region        = local.region
      }
    }
  }])

  dynamic "runtime_platform" {
    for_each = var.runtime_platform == null ? [] : [var.runtime_platform]

    content {
      operating_system_family = "LINUX"
      cpu_architecture        = runtime_platform.value.cpu_architecture
    }
  }
}

# One of two watchdogs works and the other waits, so a deployment starts the new one first.
resource "aws_ecs_service" "this" {
  count = var.create ? 1 : 0

  region = var.region

  name            = "${local.stem}-watchdog"
  cluster         = var.cluster_arn
  task_definition = aws_ecs_task_definition.this[0].arn

  desired_count                      = 1
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  launch_type                        = "FARGATE"
  tags                               = var.tags

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = length(var.security_group_ids) > 0 ? var.security_group_ids : null
    assign_public_ip = var.assign_public_ip
  }

  # At destroy, the service stops its task while the roles still have their policies.
  depends_on = [aws_iam_role_policy.task, aws_iam_role_policy.execution]

  lifecycle {
    precondition {
      condition     = alltrue([for arn in concat([var.cluster_arn], var.cluster_arns) : startswith(arn, "arn:${local.partition}:ecs:${local.here}:")])
      error_message = "cluster_arn, cluster_arns: ${jsonencode(concat([var.cluster_arn], var.cluster_arns))} is not usable; allowed: clusters of this account and Region, ${local.account} and ${local.region}"
    }
  }
}

################################################################################
# Warnings
################################################################################

check "default_security_group" {
  assert {
    condition     = !var.create || length(var.security_group_ids) > 0 || contains(var.acknowledged_warnings, "default-security-group")
    error_message = "default-security-group: the watchdog has no security group of its own; ECS takes the VPC's default group, which may allow no outgoing traffic."
  }
}
