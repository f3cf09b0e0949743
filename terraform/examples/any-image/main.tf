# A job whose image has no Python: Rails, unmodified, under the guard. For a cluster and roles that exist.
provider "aws" {
  region = "eu-west-1"
}

locals {
  registry = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
}

module "ledger" {
  source = "../../modules/ledger"

  name           = "runs"
  lambda_archive = "cronce-lambdas.zip"
}

module "guard" {
  source = "../../modules/guard"

  image = "${local.registry}/cronce:1"
  containers = {
    digest = {
      image   = "${local.registry}/shop:1"
      command = ["bundle", "exec", "rails", "digest:send"]
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = "/shop/digest"
          awslogs-region        = "eu-west-1"
          awslogs-stream-prefix = "run"
        }
      }
    }
  }
}

resource "aws_ecs_task_definition" "rails" {
  family                   = "rails"
  cpu                      = "256"
  memory                   = "512"
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = "arn:aws:iam::111122223333:role/digest-task"
  execution_role_arn       = "arn:aws:iam::111122223333:role/digest-execution"
  container_definitions    = module.guard.container_definitions
  skip_destroy             = true

  volume {
    name = module.guard.volume_name
  }
}

module "digest" {
  source = "../../modules/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "rails-digest"
  schedule            = "cron(0 6 * * ? *)"
  timezone            = "Europe/Berlin"
  cluster_arn         = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  task_definition_arn = aws_ecs_task_definition.rails.arn
  container_name      = "digest"
  task_role_arn       = "arn:aws:iam::111122223333:role/digest-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/digest-execution"
  subnet_ids          = ["subnet-0a1b2c3d4e5f60001"]
  security_group_ids  = ["sg-0a1b2c3d4e5f60001"]
}
