# The stack of tests/terraform/constructs_stack.py, by the modules. A test compares the two.
locals {
  cluster_arn = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  subnet_ids  = ["subnet-0a1b2c3d4e5f60001"]
  group_ids   = ["sg-0a1b2c3d4e5f60001"]
}

variable "archive" {
  type = string
}

module "ledger" {
  source = "MODULES/ledger"

  name           = "runs.of-shop"
  missed_after   = "10m"
  cluster_arns   = [local.cluster_arn]
  lambda_archive = var.archive
  create_rerun_function = true
  pinned_services = {
    clock = { cluster_arn = local.cluster_arn, service_name = "clock" }
    beat  = { cluster_arn = local.cluster_arn, service_name = "beat" }
  }
}

module "digest" {
  source = "MODULES/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "daily-digest"
  schedule            = "cron(0 6 * * ? *)"
  timezone            = "Europe/Berlin"
  description         = "Sends the digest"
  period              = "date"
  start               = "2026-12-01T00:00:00Z"
  end                 = "2027-12-01T00:00:00Z"
  flexible_window     = "15m"
  concurrency_policy  = "WAIT"
  starting_deadline   = "120m"
  active_deadline     = "90s"
  backoff_limit       = 2
  catch_up            = "LATEST"
  on_lost             = "HOLD"
  lease               = "120s"
  cluster_arn         = local.cluster_arn
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
  container_name      = "digest"
  command             = ["cronce", "exec", "--", "./digest", "<&> \"\\u003c\" é $${x}"]
  environment         = { GREETING = "<hello> & \"goodbye\" \\u003caws.scheduler.x\\u003e" }
  task_role_arn       = "arn:aws:iam::111122223333:role/digest-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/digest-execution"
  platform_version    = "1.4.0"
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
  assign_public_ip    = true
  propagate_tags      = true
  task_tags           = { team = "mail" }
}

module "report" {
  source = "MODULES/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "weekly $${report} (ü)"
  schedule            = "rate(20 minutes)"
  start               = "2026-12-01T00:00:00Z"
  enabled             = false
  suspend             = true
  cluster_arn         = local.cluster_arn
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report"
  container_name      = "report"
  task_role_arn       = "arn:aws:iam::111122223333:role/report-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/report-execution"
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
  metrics             = false
  capacity_provider_strategy = [
    { capacity_provider = "FARGATE_SPOT", weight = 3 },
    { capacity_provider = "FARGATE", weight = 1, base = 1 },
  ]
  enable_execute_command = true
  acknowledged_warnings  = ["task-definition-without-revision"]
}

module "on_request" {
  source = "MODULES/scheduled-task"

  ledger              = module.ledger.ledger
  job                 = "migration"
  schedule            = null
  cluster_arn         = local.cluster_arn
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/migration:3"
  container_name      = "migration"
  task_role_arn       = "arn:aws:iam::111122223333:role/migration-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/migration-execution"
  launch_type         = "EC2"
}

module "clock" {
  source = "MODULES/pinned-clock"

  ledger             = module.ledger.ledger
  job                = "clock"
  cluster_arn        = local.cluster_arn
  image              = "clock:1"
  config             = { jobs = { hourly = { every = "1h", target = { command = ["./enqueue", "{period}"] } } } }
  environment        = { TZ = "UTC" }
  subnet_ids         = local.subnet_ids
  security_group_ids = local.group_ids
}

module "beat" {
  source = "MODULES/pinned-clock"

  ledger             = module.ledger.ledger
  job                = "beat"
  cluster_arn        = local.cluster_arn
  image              = "beat:1"
  command            = ["celery", "beat"]
  cpu                = 512
  memory             = 1024
  lease              = "20s"
  stop_timeout       = 60
  runtime_platform   = { cpu_architecture = "ARM64" }
  subnet_ids         = local.subnet_ids
  security_group_ids = local.group_ids
  assign_public_ip   = true
  capacity_provider_strategy = [
    { capacity_provider = "FARGATE", weight = 1, base = 1 },
    { capacity_provider = "FARGATE_SPOT", weight = 1 },
  ]
}

module "alarms" {
  source = "MODULES/alarms"

  ledger = module.ledger.ledger
  jobs   = { daily-digest = {} }
  clocks = { clock = { no_leader = "10m", no_tick = "26h" }, beat = {} }
}
