# Every validation, precondition and check of this module, without credentials: `terraform test`.
mock_provider "aws" {}

override_data {
  target = data.aws_partition.this
  values = { partition = "aws" }
}

override_data {
  target = data.aws_region.this
  values = { region = "eu-west-1" }
}

override_data {
  target = data.aws_caller_identity.this
  values = { account_id = "111122223333" }
}

variables {
  ledger             = { name = "runs" }
  job                = "clock"
  cluster_arn        = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  image              = "clock:1"
  config_file        = "/etc/clock.toml"
  subnet_ids         = ["subnet-1"]
  security_group_ids = ["sg-1"]
}

run "good" {
  command = plan

  assert {
    condition     = aws_ecs_service.this[0].desired_count == 1 && aws_ecs_service.this[0].deployment_maximum_percent == 100 && aws_ecs_service.this[0].deployment_minimum_healthy_percent == 0
    error_message = "One task, also during a deployment."
  }

  assert {
    condition     = aws_ecs_service.this[0].availability_zone_rebalancing == "DISABLED"
    error_message = "Rebalancing starts a second task."
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create = false
  }

  assert {
    condition     = length(aws_ecs_service.this) + length(aws_iam_role.task) + length(aws_cloudwatch_log_group.this) == 0
    error_message = "Nothing is created."
  }
}

run "boundary_on_every_role" {
  command = plan

  variables {
    iam_role_permissions_boundary = "arn:aws:iam::111122223333:policy/boundary"
  }

  assert {
    condition     = alltrue([for role in [aws_iam_role.task[0], aws_iam_role.execution[0]] : role.permissions_boundary == "arn:aws:iam::111122223333:policy/boundary"])
    error_message = "One forgotten role blocks the module where boundaries are required."
  }
}

run "foreign_clock" {
  command = plan

  variables {
    config_file = null
    command     = ["celery", "beat"]
  }

  assert {
    condition     = jsondecode(aws_ecs_task_definition.this[0].container_definitions)[0].command == ["cronce", "pin", "--", "celery", "beat"]
    error_message = "Under cronce pin."
  }
}

run "other_size" {
  command = plan

  variables {
    cpu    = 1024
    memory = 3072
  }
}

run "targets_of_the_clock" {
  command = plan

  variables {
    task_role_policies = { Targets = "{}" }
  }

  assert {
    condition     = length(aws_iam_role_policy.targets) == 1
    error_message = "What its targets need."
  }
}

run "two_configurations" {
  command = plan

  variables {
    command = ["celery", "beat"]
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "no_configuration" {
  command = plan

  variables {
    config_file = null
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "lease_too_short" {
  command = plan

  variables {
    lease = "100ms"
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "memory" {
  command = plan

  variables {
    memory = 1536
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "definition_too_long" {
  command = plan

  variables {
    environment = { TEXT = format("%062000d", 0) }
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "no_group" {
  command = plan

  variables {
    security_group_ids = []
  }

  expect_failures = [check.default_security_group]
}

run "no_group_acknowledged" {
  command = plan

  variables {
    security_group_ids    = []
    acknowledged_warnings = ["default-security-group"]
  }
}

run "wrong_values_1" {
  command = plan

  variables {
    ledger                     = { name = "a/b" }
    job                        = "clock:1"
    cluster_arn                = "main"
    image                      = ""
    config                     = { job = {} }
    config_file                = ""
    command                    = []
    environment                = { CRONCE_JOB = "x" }
    secrets                    = { CRONCE_JOB = "arn:aws:ssm:eu-west-1:111122223333:parameter/x" }
    cpu                        = 300
    runtime_platform           = { cpu_architecture = "x86" }
    capacity_provider_strategy = [{ capacity_provider = "FARGATE_SPOT", weight = 1 }]
    subnet_ids                 = []
    security_group_ids         = [for n in range(6) : "sg-${n}"]
    stop_timeout               = 5
    lease                      = "1 minute"
  }

  expect_failures = [var.ledger, var.job, var.cluster_arn, var.image, var.config, var.config_file, var.command, var.environment, var.secrets, var.cpu, var.runtime_platform, var.capacity_provider_strategy, var.subnet_ids, var.security_group_ids, var.stop_timeout, var.lease]
}

run "wrong_values_2" {
  command = plan

  variables {
    job                        = "cronce"
    command                    = ["/usr/bin/cronce", "clock"]
    environment                = { A = null }
    secrets                    = { TOKEN = "token" }
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1 }, { capacity_provider = "FARGATE", weight = 2 }]
    config_file                = null
  }

  expect_failures = [var.job, var.command, var.environment, var.secrets, var.capacity_provider_strategy]
}

run "wrong_values_3" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1001 }]
  }

  expect_failures = [var.capacity_provider_strategy]
}

run "wrong_values_4" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1, base = 100001 }]
  }

  expect_failures = [var.capacity_provider_strategy]
}

run "wrong_values_5" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", base = 1 }]
  }

  expect_failures = [var.capacity_provider_strategy]
}

run "wrong_values_6" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1, base = 1 }, { capacity_provider = "FARGATE_SPOT", weight = 1, base = 1 }]
  }

  expect_failures = [var.capacity_provider_strategy]
}

run "wrong_values_7" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "mine", weight = 1 }]
  }

  expect_failures = [var.capacity_provider_strategy]
}

run "clock_without_python" {
  command = plan

  variables {
    image       = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/shop:1"
    guard_image = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/cronce:1"
    config_file = null
    command     = ["clockwork", "clock.rb"]
  }

  assert {
    condition     = jsondecode(aws_ecs_task_definition.this[0].container_definitions)[1].entryPoint == ["/cronce/cronce", "pin", "--"]
    error_message = "The guard before the clock's own command."
  }

  assert {
    condition     = [for each in aws_ecs_task_definition.this[0].volume : each.name] == ["cronce"]
    error_message = "The volume that it is brought in."
  }

  assert {
    condition     = length(local.in_ecr) == 2
    error_message = "Both images may be pulled."
  }
}

run "guard_without_a_command" {
  command = plan

  variables {
    guard_image = "cronce:1"
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "guard_without_an_image" {
  command = plan

  variables {
    guard_image = ""
    config_file = null
    command     = ["clockwork", "clock.rb"]
  }

  expect_failures = [var.guard_image]
}

run "a_month_of_31_days" {
  command = plan

  variables {
    log_retention_in_days = 31
  }

  expect_failures = [var.log_retention_in_days]
}

run "an_external_ledger_is_a_secret" {
  command = plan

  variables {
    ledger = {
      name             = "cache.example.com:6379"
      schedule_group   = "shop-external"
      dead_letters_arn = "arn:aws:sqs:eu-west-1:111122223333:shop-external-dead-letters"
      url_secret       = { arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::", policy_json = "{}" }
    }
  }

  assert {
    condition     = length(aws_iam_role_policy.ledger) == 0 && aws_iam_role_policy.url[0].policy == "{}"
    error_message = "The execution role reads the URL, and the task role needs nothing."
  }

  assert {
    condition     = output.log_group_name == "/cronce/cache.example.com-6379/clock"
    error_message = "A log group's name has no colon."
  }

  assert {
    condition     = local.container.secrets == [{ name = "CRONCE_LEDGER", valueFrom = var.ledger.url_secret.arn }] && length([for each in local.container.environment : each if each.name == "CRONCE_LEDGER"]) == 0
    error_message = "No variable has the URL."
  }
}

run "an_external_ledger_by_its_name_only" {
  command = plan

  variables {
    ledger = { name = "shop", url_secret = { arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/url", policy_json = "{}" } }
  }

  expect_failures = [aws_ecs_task_definition.this]
}

run "pauses_of_jobs_not_seen" {
  command = plan

  variables {
    config_file = null
    config      = { jobs = { for number in range(200) : format("%030d", number) => { every = "10s", target = { command = ["true"] } } } }
  }

  expect_failures = [check.pauses_of_jobs_not_seen]
}

run "pauses_of_jobs_not_seen_acknowledged" {
  command = plan

  variables {
    config_file           = null
    config                = { jobs = { for number in range(200) : format("%030d", number) => { every = "10s", target = { command = ["true"] } } } }
    acknowledged_warnings = ["pauses-of-jobs-not-seen"]
  }
}
