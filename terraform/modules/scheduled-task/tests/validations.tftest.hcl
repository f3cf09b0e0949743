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
  ledger              = { name = "runs" }
  job                 = "daily-digest"
  schedule            = "cron(0 6 * * ? *)"
  cluster_arn         = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
  task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
  container_name      = "digest"
  task_role_arn       = "arn:aws:iam::111122223333:role/team/digest-task"
  execution_role_arn  = "arn:aws:iam::111122223333:role/digest-execution"
  subnet_ids          = ["subnet-1"]
  security_group_ids  = ["sg-1"]
}

run "good" {
  command = plan

  assert {
    condition     = aws_scheduler_schedule.this["first"].name == "daily-digest-${substr(sha256("daily-digest"), 0, 12)}"
    error_message = "The schedule has the job's name and a hash."
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].group_name == "runs"
    error_message = "The group has the ledger's name."
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].target[0].dead_letter_config[0].arn == "arn:aws:sqs:eu-west-1:111122223333:runs-dead-letters"
    error_message = "The queue's name follows from the ledger's."
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].target[0].ecs_parameters[0].launch_type == "FARGATE"
    error_message = "Fargate is the default."
  }
}

run "nulls_are_defaults" {
  command = plan

  variables {
    concurrency_policy = null
    lease              = null
    tags               = null
    launch_type        = null
    timezone           = null
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create = false
  }

  assert {
    condition     = length(aws_scheduler_schedule.this) + length(aws_iam_role.this) + length(aws_iam_role_policy.claim) == 0
    error_message = "Nothing is created."
  }

  assert {
    condition     = output.schedule_name == null && output.claim_policy_json == null
    error_message = "The outputs are null."
  }
}

run "role_without_claim_policy" {
  command = plan

  variables {
    create_claim_policy = false
  }

  assert {
    condition     = length(aws_iam_role_policy.claim) == 0
    error_message = "The role's owner attaches it."
  }

  assert {
    condition     = strcontains(output.claim_policy_json, "dynamodb:PutItem")
    error_message = "The policy is an output."
  }
}

run "boundary_on_the_role" {
  command = plan

  variables {
    iam_role_permissions_boundary = "arn:aws:iam::111122223333:policy/boundary"
  }

  assert {
    condition     = aws_iam_role.this[0].permissions_boundary == "arn:aws:iam::111122223333:policy/boundary"
    error_message = "Every role has it."
  }
}

run "every_minute" {
  command = plan

  variables {
    schedule = "cron(* * * * ? *)"
  }
}

run "rate" {
  command = plan

  variables {
    schedule = "rate(1 hour)"
    start    = "2026-12-01T00:00:00Z"
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].target[0].retry_policy[0].maximum_event_age_in_seconds == 3600
    error_message = "Until the next tick."
  }
}

run "at" {
  command = plan

  variables {
    schedule = "at(2026-11-29T06:00:00)"
  }
}

run "on_request" {
  command = plan

  variables {
    schedule = null
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].schedule_expression == "at(2199-12-31T23:59:59)"
    error_message = "It never fires."
  }

  assert {
    condition     = !strcontains(output.input, "CRONCE_SCHEDULED_TIME")
    error_message = "It has no scheduled time."
  }
}

run "several_schedules" {
  command = plan

  variables {
    further_schedules = ["cron(0 9 ? * SUN *)", "cron(0 12 1 * ? *)"]
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].name == "daily-digest-${substr(sha256("daily-digest"), 0, 12)}"
    error_message = "The first schedule has the name of a job with one."
  }
  assert {
    condition     = output.further_schedule_names == [for each in ["cron(0 9 ? * SUN *)", "cron(0 12 1 * ? *)"] : "daily-digest.${substr(sha256("daily-digest-${substr(sha256("daily-digest"), 0, 12)} ${each}"), 0, 12)}"]
    error_message = "A further one has its name from its expression."
  }
  assert {
    condition     = alltrue([for each in aws_scheduler_schedule.this : strcontains(each.target[0].input, "\"name\":\"CRONCE_FURTHER_SCHEDULES\",\"value\":\"cron(0 9 ? * SUN *); cron(0 12 1 * ? *)\"")])
    error_message = "The input names the further ones."
  }
}

run "further_without_cron" {
  command = plan

  variables {
    schedule          = "rate(1 hour)"
    start             = "2026-12-01T00:00:00Z"
    further_schedules = ["cron(0 9 ? * SUN *)"]
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "further_as_the_first" {
  command = plan

  variables {
    further_schedules = ["cron(0 6 * * ? *)"]
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "further_twice" {
  command = plan

  variables {
    further_schedules = ["cron(0 9 ? * SUN *)", "cron(0 9 ? * SUN *)"]
  }

  expect_failures = [var.further_schedules]
}

run "long_ledger_name" {
  command = plan

  variables {
    ledger = { name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].group_name == "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-${substr(sha256("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 0, 12)}"
    error_message = "As cronce derives it."
  }
}

run "several_tries" {
  command = plan

  variables {
    starting_deadline = "20m"
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].target[0].retry_policy[0].maximum_retry_attempts == 20
    error_message = "One each minute until the deadline."
  }
}

run "bridge_mode" {
  command = plan

  variables {
    launch_type        = "EC2"
    subnet_ids         = []
    security_group_ids = []
  }

  assert {
    condition     = length(aws_scheduler_schedule.this["first"].target[0].ecs_parameters[0].network_configuration) == 0
    error_message = "No interface of its own."
  }
}

run "external" {
  command = plan

  variables {
    launch_type        = "EXTERNAL"
    subnet_ids         = []
    security_group_ids = []
    execution_role_arn = null
  }
}

run "spot" {
  command = plan

  variables {
    capacity_provider_strategy = [{ capacity_provider = "FARGATE_SPOT", weight = 1 }]
  }

  assert {
    condition     = aws_scheduler_schedule.this["first"].target[0].ecs_parameters[0].launch_type == null
    error_message = "A strategy instead of a launch type."
  }
}

run "two_roles_named" {
  command = plan

  assert {
    condition     = length(jsondecode(aws_iam_role_policy.start[0].policy).Statement[1].Resource) == 2
    error_message = "Exactly the task's two roles may be passed."
  }
}

run "alert_after_half_a_minute" {
  command = plan

  variables {
    no_success_for_seconds = 30
  }

  expect_failures = [var.no_success_for_seconds]
}

run "launch_type_and_strategy" {
  command = plan

  variables {
    launch_type                = "FARGATE"
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1 }]
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "fargate_without_subnets" {
  command = plan

  variables {
    subnet_ids         = []
    security_group_ids = []
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "fargate_without_execution_role" {
  command = plan

  variables {
    execution_role_arn = null
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "public_ip_on_instances" {
  command = plan

  variables {
    launch_type      = "EC2"
    assign_public_ip = true
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "groups_without_interface" {
  command = plan

  variables {
    launch_type = "EC2"
    subnet_ids  = []
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "platform_version_on_instances" {
  command = plan

  variables {
    launch_type      = "EC2"
    platform_version = "1.4.0"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "end_before_start" {
  command = plan

  variables {
    start = "2026-12-01T00:00:00Z"
    end   = "2026-11-01T00:00:00Z"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "group_of_a_job_that_replaces" {
  command = plan

  variables {
    concurrency_policy = "REPLACE"
    exclusion_group    = "billing"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "zone_without_schedule" {
  command = plan

  variables {
    schedule = null
    timezone = "Europe/Berlin"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "lease_too_short" {
  command = plan

  variables {
    lease = "100ms"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "deadline_too_short" {
  command = plan

  variables {
    active_deadline = "500ms"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "window_beyond_deadline" {
  command = plan

  variables {
    flexible_window   = "30m"
    starting_deadline = "20m"
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "input_too_long" {
  command = plan

  variables {
    environment = { TEXT = format("%08000d", 0) }
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "first_warnings" {
  command = plan

  variables {
    schedule            = "rate(5 minutes)"
    starting_deadline   = "2d"
    task_definition_arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest"
    security_group_ids  = []
    command             = ["sh", "-c", "./digest"]
  }

  expect_failures = [check.rate_without_start, check.starting_deadline_beyond_retries, check.task_definition_without_revision, check.default_security_group, check.shell_ignores_sigterm]
}

run "first_warnings_acknowledged" {
  command = plan

  variables {
    schedule              = "rate(5 minutes)"
    starting_deadline     = "2d"
    task_definition_arn   = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest"
    security_group_ids    = []
    command               = ["sh", "-c", "./digest"]
    acknowledged_warnings = ["rate-without-start", "starting-deadline-beyond-retries", "task-definition-without-revision", "default-security-group", "shell-ignores-sigterm"]
  }
}

run "second_warning" {
  command = plan

  variables {
    starting_deadline = "30s"
  }

  expect_failures = [check.starting_deadline_too_short]
}

run "second_warning_acknowledged" {
  command = plan

  variables {
    starting_deadline     = "30s"
    acknowledged_warnings = ["starting-deadline-too-short"]
  }
}

run "wrong_values_1" {
  command = plan

  variables {
    ledger                     = { name = "a/b" }
    job                        = ""
    description                = join("", [for n in range(513) : "a"])
    schedule                   = "0 6 * * *"
    timezone                   = "+01:00"
    period                     = "day"
    start                      = "2026-12-01T00:00:00"
    end                        = "2026-02-30T00:00:00Z"
    flexible_window            = "90s"
    concurrency_policy         = "SKIP"
    exclusion_group            = "group:billing"
    starting_deadline          = "1h30m"
    active_deadline            = "soon"
    backoff_limit              = 1.5
    catch_up                   = "LAST"
    on_lost                    = "STOP"
    lease                      = "1 minute"
    cluster_arn                = "main"
    task_definition_arn        = "digest:7"
    container_name             = ""
    command                    = []
    environment                = { CRONCE_JOB = "x" }
    task_role_arn              = "digest-task"
    launch_type                = "Fargate"
    capacity_provider_strategy = [{ capacity_provider = "FARGATE_SPOT" }]
    subnet_ids                 = [for n in range(17) : "subnet-${n}"]
    security_group_ids         = [for n in range(6) : "sg-${n}"]
    task_tags                  = { "aws:x" = "y" }
    retry_policy               = { maximum_event_age_in_seconds = 90000 }
    further_schedules          = ["0 9 * * 0"]
  }

  expect_failures = [var.ledger, var.job, var.description, var.schedule, var.further_schedules, var.timezone, var.period, var.start, var.end, var.flexible_window, var.concurrency_policy, var.exclusion_group, var.starting_deadline, var.active_deadline, var.backoff_limit, var.catch_up, var.on_lost, var.lease, var.cluster_arn, var.task_definition_arn, var.container_name, var.command, var.environment, var.task_role_arn, var.launch_type, var.capacity_provider_strategy, var.subnet_ids, var.security_group_ids, var.task_tags, var.retry_policy]
}

run "wrong_values_2" {
  command = plan

  variables {
    job                        = " digest"
    schedule                   = "@daily"
    flexible_window            = "25h"
    environment                = { A = null }
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1 }, { capacity_provider = "FARGATE", weight = 2 }]
    task_tags                  = { for n in range(51) : "t${n}" => "x" }
  }

  expect_failures = [var.job, var.schedule, var.flexible_window, var.environment, var.capacity_provider_strategy, var.task_tags]
}

run "wrong_values_3" {
  command = plan

  variables {
    job                        = "a\tb"
    schedule                   = "cron(0 6 * * ?)"
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1 }, { capacity_provider = "mine", weight = 2 }]
  }

  expect_failures = [var.job, var.schedule, var.capacity_provider_strategy]
}

run "wrong_values_4" {
  command = plan

  variables {
    job                        = "日報"
    schedule                   = "cron(0 6 * * * *)"
    further_schedules          = ["cron(0 9 * * SUN *)"]
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1, base = 1 }, { capacity_provider = "FARGATE_SPOT", weight = 1, base = 1 }]
  }

  expect_failures = [var.job, var.schedule, var.further_schedules, var.capacity_provider_strategy]
}

run "wrong_values_5" {
  command = plan

  variables {
    job                        = "cronce:watchdog"
    schedule                   = "cron(0 6 ? * ? *)"
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1001 }]
  }

  expect_failures = [var.job, var.schedule, var.capacity_provider_strategy]
}

run "wrong_values_6" {
  command = plan

  variables {
    job                        = format("%02049d", 0)
    schedule                   = "cron(* 8 * * ? *)"
    further_schedules          = ["cron(* 9 ? * SUN *)"]
    capacity_provider_strategy = [{ capacity_provider = "FARGATE", weight = 1, base = 100001 }]
  }

  expect_failures = [var.job, var.schedule, var.further_schedules, var.capacity_provider_strategy]
}

run "wrong_values_7" {
  command = plan

  variables {
    schedule                   = "rate(0 minutes)"
    capacity_provider_strategy = [for n in range(7) : { capacity_provider = "mine-${n}", weight = 1 }]
  }

  expect_failures = [var.schedule, var.capacity_provider_strategy]
}

run "wrong_values_8" {
  command = plan

  variables {
    schedule = "at(2026-11-29T06:00)"
  }

  expect_failures = [var.schedule]
}

run "texts_that_a_task_cannot_have" {
  command = plan

  variables {
    job         = "<aws.scheduler.execution-id>"
    environment = { "A=B" = "x" }
    task_tags   = { team = "mail\n" }
  }

  expect_failures = [var.job, var.environment, var.task_tags]
}

run "a_size" {
  command = plan

  variables {
    size                    = { cpu = 1024, memory = 4096, container_memory_reservation = 64 }
    enable_ecs_managed_tags = true
  }

  assert {
    condition     = jsondecode(local.input).cpu == "1024" && jsondecode(local.input).memory == "4096" && jsondecode(local.input).containerOverrides[0].memoryReservation == 64
    error_message = "Text for the task, numbers for the container."
  }

  assert {
    condition     = local.tagged
    error_message = "Managed tags need the permission to tag."
  }
}

run "sizes_of_no_number" {
  command = plan

  variables {
    size = { cpu = 0.5 }
  }

  expect_failures = [var.size]
}

run "a_container_without_memory" {
  command = plan

  variables {
    size = { container_memory = 5 }
  }

  expect_failures = [var.size]
}

run "a_container_larger_than_its_task" {
  command = plan

  variables {
    size = { cpu = 256, memory = 512, container_cpu = 257 }
  }

  expect_failures = [var.size]
}

run "a_reservation_over_the_limit" {
  command = plan

  variables {
    size = { container_memory = 100, container_memory_reservation = 101 }
  }

  expect_failures = [var.size]
}

run "cpu_that_fargate_has_not" {
  command = plan

  variables {
    size = { cpu = 300 }
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "memory_that_fargate_has_not" {
  command = plan

  variables {
    size = { cpu = 256, memory = 1536 }
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "cpu_that_ecs_has_not" {
  command = plan

  variables {
    launch_type = "EC2"
    size        = { cpu = 127 }
  }

  expect_failures = [aws_scheduler_schedule.this]
}

run "an_external_ledger_is_in_no_override" {
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
    condition     = !strcontains(output.input, "CRONCE_LEDGER") && strcontains(output.input, "CRONCE_JOB")
    error_message = "The container has the URL as a secret."
  }

  assert {
    condition     = length(aws_iam_role_policy.claim) == 0 && output.claim_policy_json == null && aws_iam_role_policy.url[0].policy == "{}" && aws_iam_role_policy.url[0].role == reverse(split("/", var.execution_role_arn))[0]
    error_message = "The execution role reads the URL, and the task role needs nothing."
  }
}

run "the_owner_of_the_roles_attaches_the_policies" {
  command = plan

  variables {
    create_claim_policy = false
    ledger = {
      name             = "cache.example.com:6379"
      schedule_group   = "shop-external"
      dead_letters_arn = "arn:aws:sqs:eu-west-1:111122223333:shop-external-dead-letters"
      url_secret       = { arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::", policy_json = "{}" }
    }
  }

  assert {
    condition     = length(aws_iam_role_policy.url) == 0 && output.url_policy_json == "{}"
    error_message = "The output has it."
  }
}

run "execute_command_needs_no_table" {
  command = plan

  variables {
    enable_execute_command = true
    ledger = {
      name             = "cache.example.com:6379"
      schedule_group   = "shop-external"
      dead_letters_arn = "arn:aws:sqs:eu-west-1:111122223333:shop-external-dead-letters"
      url_secret       = { arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::", policy_json = "{}" }
    }
  }

  assert {
    condition     = length(jsondecode(aws_iam_role_policy.claim[0].policy).Statement) == 1
    error_message = "Nothing on DynamoDB."
  }
}

run "an_external_ledger_without_an_execution_role" {
  command = plan

  variables {
    launch_type        = "EC2"
    execution_role_arn = null
    ledger = {
      name             = "cache.example.com:6379"
      schedule_group   = "shop-external"
      dead_letters_arn = "arn:aws:sqs:eu-west-1:111122223333:shop-external-dead-letters"
      url_secret       = { arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf:url::", policy_json = "{}" }
    }
  }

  expect_failures = [aws_iam_role_policy.url]
}

run "an_external_ledger_by_its_name_only" {
  command = plan

  variables {
    ledger = { name = "shop", url_secret = { arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/url", policy_json = "{}" } }
  }

  expect_failures = [aws_scheduler_schedule.this]
}
