# A ledger, a job that runs once per period, and alarms.

provider "aws" {
  region = var.region
}

data "aws_caller_identity" "current" {}

################################################################################
# Network: public subnets, so that no NAT gateway is paid for; nothing comes in
################################################################################

resource "aws_vpc" "this" {
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = var.name }
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_subnet" "public" {
  count = 2

  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 8, count.index)
  availability_zone = "${var.region}${["a", "b"][count.index]}"
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
}

resource "aws_route" "out" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  count = length(aws_subnet.public)

  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

resource "aws_security_group" "task" {
  name        = "${var.name}-task"
  description = "Scheduled tasks: all outgoing, no incoming traffic"
  vpc_id      = aws_vpc.this.id
}

resource "aws_vpc_security_group_egress_rule" "out" {
  security_group_id = aws_security_group.task.id
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

################################################################################
# Cluster and task definition
################################################################################

resource "aws_ecs_cluster" "this" {
  name = var.name
}

resource "aws_cloudwatch_log_group" "task" {
  name              = "/${var.name}/task"
  retention_in_days = 30
}

locals {
  assumed_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })
}

resource "aws_iam_role" "task" {
  name_prefix        = "job-task-"
  assume_role_policy = local.assumed_by_tasks
}

resource "aws_iam_role" "execution" {
  name_prefix        = "job-execution-"
  assume_role_policy = local.assumed_by_tasks
}

resource "aws_iam_role_policy" "execution" {
  name = "Execution"
  role = aws_iam_role.execution.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "${aws_cloudwatch_log_group.task.arn}:*" },
      { Effect = "Allow", Action = ["ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage", "ecr:GetAuthorizationToken"], Resource = "*" },
    ]
  })
}

resource "aws_ecs_task_definition" "job" {
  family                   = "${var.name}-job"
  cpu                      = "256"
  memory                   = "512"
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = aws_iam_role.task.arn
  execution_role_arn       = aws_iam_role.execution.arn
  # The old revision stays usable for a tick between the two calls of an apply.
  skip_destroy = true

  runtime_platform {
    cpu_architecture        = "X86_64"
    operating_system_family = "LINUX"
  }

  container_definitions = jsonencode([{
    name      = "job"
    image     = var.image
    essential = true
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.task.name
        awslogs-region        = var.region
        awslogs-stream-prefix = "run"
      }
    }
  }])
}

################################################################################
# cronce
################################################################################

module "ledger" {
  source = "./modules/ledger"

  name                        = var.name
  cluster_arns                = [aws_ecs_cluster.this.arn]
  lambda_archive              = var.lambda_archive
  deletion_protection_enabled = var.deletion_protection_enabled
}

module "job" {
  source = "./modules/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "{{job}}"
  schedule            = "{{schedule}}"
  timezone            = "{{timezone}}"
  concurrency_policy  = "FORBID"
  starting_deadline   = "1h"
  active_deadline     = "1h"
  backoff_limit       = 2
  cluster_arn         = aws_ecs_cluster.this.arn
  task_definition_arn = aws_ecs_task_definition.job.arn
  container_name      = "job"
  task_role_arn       = aws_iam_role.task.arn
  execution_role_arn  = aws_iam_role.execution.arn
  subnet_ids          = aws_subnet.public[*].id
  security_group_ids  = [aws_security_group.task.id]
  assign_public_ip    = true
}

resource "aws_sns_topic" "alarms" {
  name = "${var.name}-alarms"
}

resource "aws_sns_topic_policy" "alarms" {
  arn = aws_sns_topic.alarms.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sns:Publish"
      Resource  = aws_sns_topic.alarms.arn
      Principal = { Service = ["cloudwatch.amazonaws.com", "events.amazonaws.com"] }
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_sns_topic_subscription" "alarms" {
  count = var.alarm_email == null ? 0 : 1

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.alarm_email
}

module "alarms" {
  source = "./modules/alarms"

  ledger        = module.ledger.ledger
  alarm_actions = [aws_sns_topic.alarms.arn]

  # Sends a message about each run that needs a person, with its job, its period and the reason.
  notify_topic_arns = [aws_sns_topic.alarms.arn]
}
