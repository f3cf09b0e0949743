# A ledger and two jobs, for a cluster and a task definition that exist.
provider "aws" {
  region = "eu-west-1"
}

module "ledger" {
  source = "../../modules/ledger"

  name           = "runs"
  lambda_archive = "cronce-lambdas.zip"
}

module "job" {
  source   = "../../modules/scheduled-task"
  for_each = { daily-digest = "cron(0 6 * * ? *)", weekly-digest = "cron(0 7 ? * MON *)" }

  ledger              = module.ledger.ledger
  job                 = each.key
  schedule            = each.value
  timezone            = "Europe/Berlin"
  cluster_arn         = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
  container_name      = "digest"
  command             = ["cronce", "exec", "--", "./digest", each.key]
  task_role_arn       = "arn:aws:iam::111122223333:role/digest-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/digest-execution"
  subnet_ids          = ["subnet-0a1b2c3d4e5f60001"]
  security_group_ids  = ["sg-0a1b2c3d4e5f60001"]
}
