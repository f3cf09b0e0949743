# A ledger of each name, and a job of each name; tests compare the names that follow with those of the constructs.
variable "ledgers" {
  type = set(string)
}

variable "jobs" {
  type = set(string)
}

module "ledger" {
  source   = "MODULES/ledger"
  for_each = var.ledgers

  name                  = each.value
  create_rerun_function = true
  create_board_function = true
  lambda_archive        = "MODULES/ledger/tests/archive.zip"
}

module "of_another_state" {
  source   = "MODULES/scheduled-task"
  for_each = var.ledgers

  ledger              = { name = each.value }
  job                 = "digest"
  schedule            = "cron(0 6 * * ? *)"
  cluster_arn         = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
  container_name      = "digest"
  task_role_arn       = "arn:aws:iam::111122223333:role/digest-task"
  launch_type         = "EC2"
}

module "alarms" {
  source   = "MODULES/alarms"
  for_each = var.ledgers

  ledger         = { name = each.value }
  rerun_function = true
}

module "job" {
  source   = "MODULES/scheduled-task"
  for_each = var.jobs

  ledger              = { name = "runs" }
  job                 = each.value
  schedule            = "cron(0 6 * * ? *)"
  cluster_arn         = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
  container_name      = "digest"
  task_role_arn       = "arn:aws:iam::111122223333:role/digest-task"
  launch_type         = "EC2"
}
