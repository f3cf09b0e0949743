# The stack of tests/terraform/constructs_stack.py, by the modules. A test compares the two.
locals {
  cluster_arn = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  subnet_ids  = ["subnet-0a1b2c3d4e5f60001"]
  group_ids   = ["sg-0a1b2c3d4e5f60001"]
  assumed_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })
  keys        = { for name in ["table", "queues", "logs", "schedules"] : name => "arn:aws:kms:eu-west-1:111122223333:key/${name}" }
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
  create_board_function = true
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
  exclusion_group     = "billing"
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
  no_success_for_seconds = 129600
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
  guard_image        = "cronce:1"
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
  rerun_function = true
  alarm_actions  = ["arn:aws:sns:eu-west-1:111122223333:alarms"]

  webhook = {
    connection_arn = "arn:aws:events:eu-west-1:111122223333:connection/slack/0f1e2d3c"
    url            = "https://slack.com/api/chat.postMessage"
    channel        = "#ops"
  }
  notify_topic_arns = ["arn:aws:sns:eu-west-1:111122223333:alarms"]
  clocks = { clock = { no_leader = "10m", no_tick = "26h" }, beat = {} }
}

# Another ledger, with everything that platform teams ask for.
module "locked" {
  source = "MODULES/ledger"

  name                        = "locked-runs"
  cluster_arns                = [local.cluster_arn]
  lambda_archive              = var.archive
  create_rerun_function       = true
  create_board_function       = true
  lambda_architecture         = "arm64"
  lambda_memory_size          = 768
  lambda_timeouts             = { recorder = 90, rerun = 20 }
  lambda_reserved_concurrency = 4
  lambda_subnet_ids           = local.subnet_ids
  lambda_security_group_ids   = local.group_ids
  log_retention_in_days       = 365
  kms_keys                    = local.keys
  pinned_services             = { vault = { cluster_arn = local.cluster_arn, service_name = "vault" } }
}

module "closed" {
  source = "MODULES/scheduled-task"

  ledger              = module.locked.ledger
  job                 = "closed"
  size                = { cpu = 1024, memory = 4096, container_cpu = 512, container_memory = 2048, container_memory_reservation = 1024 }
  enable_ecs_managed_tags = true
  schedule            = "cron(0 5 * * ? *)"
  further_schedules   = ["cron(0 9 ? * SUN *)"]
  cluster_arn         = local.cluster_arn
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/closed:1"
  container_name      = "closed"
  task_role_arn       = "arn:aws:iam::111122223333:role/closed-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/closed-execution"
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
}

module "vault" {
  source = "MODULES/pinned-clock"

  ledger             = module.locked.ledger
  job                = "vault"
  cluster_arn        = local.cluster_arn
  image              = "clock:1"
  config             = { jobs = { hourly = { every = "1h", target = { command = ["true"] } } } }
  subnet_ids         = local.subnet_ids
  security_group_ids = local.group_ids
}

# A ledger in PostgreSQL, with a job whose task definition is in this stack.
module "outside" {
  source = "MODULES/external-ledger"

  name                = "shop"
  url_secret_arn      = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::"
  schedule_group_name = "shop-jobs"
  missed_after        = "10m"
  cluster_arn         = local.cluster_arn
  cluster_arns        = [local.cluster_arn]
  image               = "cronce:1"
  runtime_platform    = { cpu_architecture = "ARM64" }
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
}

module "anywhere" {
  source = "MODULES/external-ledger"

  name                = "cache.example.com:6379"
  url_secret_arn      = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:cache-AbCdEf"
  schedule_group_name = "cache-jobs"
  cluster_arn         = local.cluster_arn
  image               = "cronce:1"
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
}

resource "aws_iam_role" "orders_task" {
  name               = "orders-task"
  assume_role_policy = local.assumed_by_tasks
}

resource "aws_iam_role" "orders_execution" {
  name               = "orders-execution"
  assume_role_policy = local.assumed_by_tasks
}

resource "aws_ecs_task_definition" "orders" {
  family                   = "orders"
  cpu                      = "256"
  memory                   = "512"
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  task_role_arn            = aws_iam_role.orders_task.arn
  execution_role_arn       = aws_iam_role.orders_execution.arn
  container_definitions = jsonencode([{
    name      = "orders"
    image     = "orders:1"
    essential = true
    secrets   = [module.outside.container_secret]
  }])
}

module "orders" {
  source = "MODULES/scheduled-task"

  ledger              = module.outside.ledger
  job                 = "orders"
  schedule            = "cron(0 5 * * ? *)"
  cluster_arn         = local.cluster_arn
  task_definition_arn = aws_ecs_task_definition.orders.arn
  container_name      = "orders"
  task_role_arn       = aws_iam_role.orders_task.arn
  execution_role_arn  = aws_iam_role.orders_execution.arn
  subnet_ids          = local.subnet_ids
  security_group_ids  = local.group_ids
}

module "pulse" {
  source = "MODULES/pinned-clock"

  ledger             = module.outside.ledger
  job                = "pulse"
  cluster_arn        = local.cluster_arn
  image              = "clock:1"
  config             = { jobs = { hourly = { every = "1h", target = { command = ["true"] } } } }
  subnet_ids         = local.subnet_ids
  security_group_ids = local.group_ids
}

module "outside_alarms" {
  source = "MODULES/alarms"

  ledger            = module.outside.ledger
  alarm_actions     = ["arn:aws:sns:eu-west-1:111122223333:alarms"]
  notify_topic_arns = ["arn:aws:sns:eu-west-1:111122223333:alarms"]
}
