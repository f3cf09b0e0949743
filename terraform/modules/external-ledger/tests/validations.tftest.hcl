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
  name               = "shop"
  url_secret_arn     = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::"
  cluster_arn        = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  image              = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/tools/cronce:1"
  subnet_ids         = ["subnet-1"]
  security_group_ids = ["sg-1"]
}

run "good" {
  command = plan

  assert {
    condition     = output.schedule_group_name == "shop-external" && aws_sqs_queue.dead_letters[0].name == "shop-external-dead-letters" && output.service_name == "shop-external-watchdog"
    error_message = "The names follow from the ledger's."
  }

  assert {
    condition     = jsondecode(output.url_policy_json).Statement == [{ Effect = "Allow", Action = "secretsmanager:GetSecretValue", Resource = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf" }]
    error_message = "Exactly the secret, without the JSON key."
  }

  assert {
    condition     = output.container_secret == { name = "CRONCE_LEDGER", valueFrom = var.url_secret_arn }
    error_message = "With the JSON key."
  }

  assert {
    condition     = output.ledger.name == "shop" && output.ledger.schedule_group == "shop-external" && output.ledger.url_secret.arn == var.url_secret_arn
    error_message = "What other modules take."
  }
}

run "a_rolling_deployment_starts_the_new_watchdog_first" {
  command = plan

  assert {
    condition     = aws_ecs_service.this[0].desired_count == 1 && aws_ecs_service.this[0].deployment_maximum_percent == 200 && aws_ecs_service.this[0].deployment_minimum_healthy_percent == 100
    error_message = "Two do no harm."
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create = false
  }

  assert {
    condition     = length(aws_ecs_service.this) + length(aws_iam_role.task) + length(aws_sqs_queue.dead_letters) + length(aws_cloudwatch_log_group.this) == 0
    error_message = "Nothing is created."
  }

  assert {
    condition     = output.container_secret == null && output.url_policy_json == null && output.schedule_group_name == null && output.service_arn == null
    error_message = "The outputs are null."
  }
}

run "a_redis_server_has_no_name_for_aws" {
  command = plan

  variables {
    name = "cache.example.com:6379"
  }

  assert {
    condition     = output.schedule_group_name == "cache-example-com-6379-${substr(sha256("cache.example.com:6379"), 0, 12)}-external"
    error_message = "With a hash, because two names could become the same."
  }
}

run "a_group_of_your_choice" {
  command = plan

  variables {
    schedule_group_name = "shop.jobs"
  }

  assert {
    condition     = output.schedule_group_name == "shop.jobs" && output.service_name == "shop-jobs-watchdog" && output.log_group_name == "/cronce/shop-jobs/watchdog"
    error_message = "The other names follow from the group's."
  }
}

run "a_parameter_with_a_key" {
  command = plan

  variables {
    url_secret_arn  = "arn:aws:ssm:eu-west-1:111122223333:parameter/shop/cronce"
    url_kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:key/url"
  }

  assert {
    condition = jsondecode(output.url_policy_json).Statement == [
      { Effect = "Allow", Action = "ssm:GetParameters", Resource = var.url_secret_arn },
      { Effect = "Allow", Action = "kms:Decrypt", Resource = var.url_kms_key_arn, Condition = { StringEquals = { "kms:ViaService" = "ssm.eu-west-1.amazonaws.com" } } },
    ]
    error_message = "The key through Systems Manager only."
  }
}

run "an_image_in_ecr_may_be_pulled" {
  command = plan

  override_resource {
    target          = aws_cloudwatch_log_group.this
    override_during = plan
    values          = { arn = "arn:aws:logs:eu-west-1:111122223333:log-group:/cronce/shop-external/watchdog" }
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.execution[0].policy).Statement[1].Resource == ["arn:aws:ecr:eu-west-1:111122223333:repository/tools/cronce"] && length(jsondecode(aws_iam_role_policy.execution[0].policy).Statement) == 4
    error_message = "Exactly its repository."
  }
}

run "an_image_elsewhere_needs_no_permission" {
  command = plan

  variables {
    image = "registry.example.com/cronce:1"
  }

  override_resource {
    target          = aws_cloudwatch_log_group.this
    override_during = plan
    values          = { arn = "arn:aws:logs:eu-west-1:111122223333:log-group:/cronce/shop-external/watchdog" }
  }

  assert {
    condition     = length(jsondecode(aws_iam_role_policy.execution[0].policy).Statement) == 2
    error_message = "The log and the URL."
  }
}

run "boundary_on_every_role" {
  command = plan

  variables {
    iam_role_permissions_boundary = "arn:aws:iam::111122223333:policy/boundary"
  }

  assert {
    condition     = aws_iam_role.task[0].permissions_boundary == var.iam_role_permissions_boundary && aws_iam_role.execution[0].permissions_boundary == var.iam_role_permissions_boundary
    error_message = "Every role has it."
  }
}

run "the_url_itself_as_the_name" {
  command = plan

  variables {
    name = "postgresql://ada@db.example.com/shop"
  }

  expect_failures = [var.name]
}

run "the_url_in_place_of_its_secret" {
  command = plan

  variables {
    url_secret_arn = "postgresql://ada@db.example.com/shop"
  }

  expect_failures = [var.url_secret_arn]
}

run "a_key_by_its_alias" {
  command = plan

  variables {
    url_kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:alias/url"
  }

  expect_failures = [var.url_kms_key_arn]
}

run "a_group_with_a_slash" {
  command = plan

  variables {
    schedule_group_name = "a/b"
  }

  expect_failures = [var.schedule_group_name]
}

run "a_cluster_by_its_name" {
  command = plan

  variables {
    cluster_arn = "main"
  }

  expect_failures = [var.cluster_arn]
}

run "no_image" {
  command = plan

  variables {
    image = ""
  }

  expect_failures = [var.image]
}

run "missed_after_seconds" {
  command = plan

  variables {
    missed_after = "30s"
  }

  expect_failures = [var.missed_after]
}

run "another_processor" {
  command = plan

  variables {
    runtime_platform = { cpu_architecture = "RISCV" }
  }

  expect_failures = [var.runtime_platform]
}

run "no_subnets" {
  command = plan

  variables {
    subnet_ids = []
  }

  expect_failures = [var.subnet_ids]
}

run "six_groups" {
  command = plan

  variables {
    security_group_ids = ["sg-1", "sg-2", "sg-3", "sg-4", "sg-5", "sg-6"]
  }

  expect_failures = [var.security_group_ids]
}

run "a_cluster_of_another_region" {
  command = plan

  variables {
    cluster_arns = ["arn:aws:ecs:us-east-1:111122223333:cluster/main"]
  }

  expect_failures = [aws_ecs_service.this]
}

run "no_group_of_its_own" {
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

run "a_month_of_31_days" {
  command = plan

  variables {
    log_retention_in_days = 31
  }

  expect_failures = [var.log_retention_in_days]
}

run "a_cluster_of_the_jobs_by_its_name" {
  command = plan

  variables {
    cluster_arns = ["main"]
  }

  expect_failures = [var.cluster_arns]
}
