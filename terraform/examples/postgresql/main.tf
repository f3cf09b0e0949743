# A job whose ledger is a table in a PostgreSQL database. Cluster, network, roles and the secret with the URL exist.
provider "aws" {
  region = "eu-west-1"
}

module "ledger" {
  source = "../../modules/external-ledger"

  name               = "shop" # postgresql://ada:...@db.example.com/shop
  url_secret_arn     = var.url_secret_arn
  cluster_arn        = var.cluster_arn
  cluster_arns       = [var.cluster_arn]
  image              = var.image
  subnet_ids         = var.subnet_ids
  security_group_ids = var.security_group_ids
}

resource "aws_ecs_task_definition" "digest" {
  family                   = "digest"
  cpu                      = "256"
  memory                   = "512"
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = var.task_role_arn
  execution_role_arn       = var.execution_role_arn
  skip_destroy             = true

  container_definitions = jsonencode([{
    name      = "digest"
    image     = var.image
    essential = true
    secrets   = [module.ledger.container_secret]
  }])
}

module "digest" {
  source = "../../modules/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "daily-digest"
  schedule            = "cron(0 6 * * ? *)"
  timezone            = "Europe/Berlin"
  backoff_limit       = 1
  cluster_arn         = var.cluster_arn
  task_definition_arn = aws_ecs_task_definition.digest.arn
  container_name      = "digest"
  command             = var.command
  task_role_arn       = var.task_role_arn
  execution_role_arn  = var.execution_role_arn
  subnet_ids          = var.subnet_ids
  security_group_ids  = var.security_group_ids
}

module "alarms" {
  source = "../../modules/alarms"

  ledger        = module.ledger.ledger
  alarm_actions = var.alarm_actions
}
