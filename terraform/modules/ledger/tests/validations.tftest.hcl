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
  name           = "runs"
  lambda_archive = "tests/archive.zip"
}

run "good" {
  command = plan

  assert {
    condition     = output.url == "dynamodb://runs?region=eu-west-1"
    error_message = "The value of CRONCE_LEDGER."
  }

  assert {
    condition     = aws_sqs_queue.dead_letters[0].name == "runs-dead-letters"
    error_message = "Named after the table."
  }

  assert {
    condition     = aws_dynamodb_table.this[0].deletion_protection_enabled
    error_message = "Protected by default."
  }

  assert {
    condition     = jsonencode([local.in_clusters, local.tasks_arns]) == jsonencode([{ ArnLike = { "ecs:cluster" = ["arn:aws:ecs:eu-west-1:111122223333:cluster/*"] } }, ["arn:aws:ecs:eu-west-1:111122223333:task/*/*"]])
    error_message = "The watchdog may look at the tasks of every cluster of this account and Region."
  }
}

run "tasks_of_the_clusters_only" {
  command = plan

  variables {
    cluster_arns = ["arn:aws:ecs:eu-west-1:111122223333:cluster/main", "arn:aws:ecs:eu-west-1:111122223333:cluster/jobs"]
  }

  assert {
    condition     = local.in_clusters == { ArnEquals = { "ecs:cluster" = var.cluster_arns } }
    error_message = "The watchdog may list the tasks of these clusters."
  }

  assert {
    condition     = join(" ", local.tasks_arns) == "arn:aws:ecs:eu-west-1:111122223333:task/main/* arn:aws:ecs:eu-west-1:111122223333:task/jobs/*"
    error_message = "And read them."
  }
}

run "no_rerun_function_by_default" {
  command = plan

  assert {
    condition     = toset(keys(aws_lambda_function.this)) == toset(["recorder", "watchdog"]) && length(aws_iam_role.this) + length(aws_cloudwatch_log_group.this) == 4
    error_message = "Only with create_rerun_function."
  }

  assert {
    condition     = output.rerun_function_name == null && output.rerun_policy_json == null
    error_message = "Its outputs are null."
  }
}

run "a_rerun_function" {
  command = plan

  variables {
    create_rerun_function = true
  }

  assert {
    condition     = output.rerun_function_name == "runs-rerun"
    error_message = "Named after the table."
  }
}

run "a_board_function" {
  command = plan

  variables {
    create_board_function = true
  }

  assert {
    condition     = aws_lambda_function.this["board"].function_name == "runs-board" && aws_lambda_function.this["board"].memory_size == 1769
    error_message = "Named after the table, with one vCPU."
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create                = false
    create_rerun_function = true
    create_board_function = true
  }

  assert {
    condition     = length(aws_dynamodb_table.this) + length(aws_lambda_function.this) + length(aws_iam_role.this) == 0
    error_message = "Nothing is created."
  }

  assert {
    condition     = output.url == null && output.board_widget == null && output.ledger.name == "runs"
    error_message = "The outputs are null, apart from the name."
  }
}

run "boundary_on_every_role" {
  command = plan

  variables {
    iam_role_permissions_boundary = "arn:aws:iam::111122223333:policy/boundary"
  }

  assert {
    condition     = alltrue([for role in [aws_iam_role.this["recorder"], aws_iam_role.this["watchdog"]] : role.permissions_boundary == "arn:aws:iam::111122223333:policy/boundary"])
    error_message = "One forgotten role blocks the module where boundaries are required."
  }
}

run "name_with_dots" {
  command = plan

  variables {
    name = "my.runs"
  }

  assert {
    condition     = aws_scheduler_schedule_group.this[0].name == "my.runs"
    error_message = "The group keeps the dots."
  }

  assert {
    condition     = aws_sqs_queue.dead_letters[0].name == "my-runs-${substr(sha256("my.runs"), 0, 12)}-dead-letters"
    error_message = "A queue has none."
  }

  assert {
    condition     = length(aws_lambda_function.this["watchdog"].function_name) <= 64
    error_message = "A function has none."
  }
}

run "name_of_64" {
  command = plan

  variables {
    name = join("", [for n in range(64) : "a"])
  }

  assert {
    condition     = length(aws_scheduler_schedule_group.this[0].name) <= 64
    error_message = "The limit of a group's name."
  }

  assert {
    condition     = length(aws_sqs_queue.dead_letters[0].name) <= 80 && length(aws_sqs_queue.unsettled[0].name) <= 80
    error_message = "The limit of a queue's name."
  }

  assert {
    condition     = length(aws_lambda_function.this["recorder"].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
    error_message = "The limit of a function's and a rule's name."
  }
}

run "name_of_65" {
  command = plan

  variables {
    name = join("", [for n in range(65) : "a"])
  }

  assert {
    condition     = length(aws_scheduler_schedule_group.this[0].name) <= 64
    error_message = "The limit of a group's name."
  }

  assert {
    condition     = length(aws_sqs_queue.dead_letters[0].name) <= 80 && length(aws_sqs_queue.unsettled[0].name) <= 80
    error_message = "The limit of a queue's name."
  }

  assert {
    condition     = length(aws_lambda_function.this["recorder"].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
    error_message = "The limit of a function's and a rule's name."
  }
}

run "name_of_66" {
  command = plan

  variables {
    name = join("", [for n in range(66) : "a"])
  }

  assert {
    condition     = length(aws_scheduler_schedule_group.this[0].name) <= 64
    error_message = "The limit of a group's name."
  }

  assert {
    condition     = length(aws_sqs_queue.dead_letters[0].name) <= 80 && length(aws_sqs_queue.unsettled[0].name) <= 80
    error_message = "The limit of a queue's name."
  }

  assert {
    condition     = length(aws_lambda_function.this["recorder"].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
    error_message = "The limit of a function's and a rule's name."
  }
}

run "name_of_67" {
  command = plan

  variables {
    name = join("", [for n in range(67) : "a"])
  }

  assert {
    condition     = length(aws_scheduler_schedule_group.this[0].name) <= 64
    error_message = "The limit of a group's name."
  }

  assert {
    condition     = length(aws_sqs_queue.dead_letters[0].name) <= 80 && length(aws_sqs_queue.unsettled[0].name) <= 80
    error_message = "The limit of a queue's name."
  }

  assert {
    condition     = length(aws_lambda_function.this["recorder"].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
    error_message = "The limit of a function's and a rule's name."
  }
}

run "name_of_255" {
  command = plan

  variables {
    name = join("", [for n in range(255) : "a"])
  }

  assert {
    condition     = length(aws_scheduler_schedule_group.this[0].name) <= 64
    error_message = "The limit of a group's name."
  }

  assert {
    condition     = length(aws_sqs_queue.dead_letters[0].name) <= 80 && length(aws_sqs_queue.unsettled[0].name) <= 80
    error_message = "The limit of a queue's name."
  }

  assert {
    condition     = length(aws_lambda_function.this["recorder"].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
    error_message = "The limit of a function's and a rule's name."
  }
}

run "from_s3" {
  command = plan

  variables {
    lambda_archive    = null
    lambda_archive_s3 = { bucket = "code", key = "cronce.zip", sha256_base64 = "vHaIWW4LlFtsUJ4TeDRtl3LchWr/bYdbpDIWD3N6310=" }
  }

  assert {
    condition     = aws_lambda_function.this["recorder"].filename == null && aws_lambda_function.this["recorder"].s3_key == "cronce.zip"
    error_message = "From the bucket."
  }
}

run "two_archives" {
  command = plan

  variables {
    lambda_archive_s3 = { bucket = "code", key = "cronce.zip", sha256_base64 = "vHaIWW4LlFtsUJ4TeDRtl3LchWr/bYdbpDIWD3N6310=" }
  }

  expect_failures = [aws_lambda_function.this]
}

run "clusters_of_another_region" {
  command = plan

  variables {
    cluster_arns = ["arn:aws:ecs:us-east-1:111122223333:cluster/main"]
  }

  expect_failures = [aws_lambda_function.this]
}

run "no_archive" {
  command = plan

  variables {
    lambda_archive = "no-such-file.zip"
  }

  expect_failures = [aws_lambda_function.this]
}

run "another_archive" {
  command = plan

  variables {
    lambda_archive_sha256 = "vHaIWW4LlFtsUJ4TeDRtl3LchWr/bYdbpDIWD3N6310="
  }

  expect_failures = [check.archive_differs]
}

run "another_archive_acknowledged" {
  command = plan

  variables {
    lambda_archive_sha256 = "vHaIWW4LlFtsUJ4TeDRtl3LchWr/bYdbpDIWD3N6310="
    acknowledged_warnings = ["archive-differs"]
  }
}

run "wrong_values_1" {
  command = plan

  variables {
    name              = "ab"
    missed_after      = "1h30m"
    cluster_arns      = ["main"]
    lambda_archive_s3 = { bucket = "code", key = "cronce.zip", sha256_base64 = "abc" }
    lambda_runtime    = "python3.9"
  }

  expect_failures = [var.name, var.missed_after, var.cluster_arns, var.lambda_archive_s3, var.lambda_runtime]
}

run "wrong_values_2" {
  command = plan

  variables {
    name         = "a/b"
    missed_after = "59s"
  }

  expect_failures = [var.name, var.missed_after]
}

run "wrong_values_3" {
  command = plan

  variables {
    missed_after = "25h"
  }

  expect_failures = [var.missed_after]
}

run "functions_in_a_vpc" {
  command = plan

  variables {
    create_rerun_function       = true
    lambda_architecture         = "arm64"
    lambda_memory_size          = 256
    lambda_timeouts             = { recorder = 100 }
    lambda_reserved_concurrency = 2
    lambda_subnet_ids           = ["subnet-1", "subnet-2"]
    lambda_security_group_ids   = ["sg-1"]
    keep_logs                   = true
    log_retention_in_days       = 0
  }

  assert {
    condition     = alltrue([for function in aws_lambda_function.this : toset(one(function.vpc_config).subnet_ids) == toset(["subnet-1", "subnet-2"]) && function.reserved_concurrent_executions == 2 && function.memory_size == 256 && function.architectures == tolist(["arm64"])])
    error_message = "Each of the three functions."
  }

  assert {
    condition     = { for name, function in aws_lambda_function.this : name => function.timeout } == { recorder = 100, watchdog = 300, rerun = 30 }
    error_message = "Each has its own timeout."
  }

  assert {
    condition     = aws_sqs_queue.dead_letters[0].visibility_timeout_seconds == 600
    error_message = "Six times the recorder's timeout."
  }

  assert {
    condition     = [for statement in local.joining_a_vpc : statement.Effect] == ["Allow", "Deny"]
    error_message = "Lambda may attach the function to the VPC, its code may not."
  }

  assert {
    condition     = alltrue([for log in aws_cloudwatch_log_group.this : log.skip_destroy])
    error_message = "The logs stay."
  }
}

run "subnets_without_groups" {
  command = plan

  variables {
    lambda_subnet_ids = ["subnet-1"]
  }

  expect_failures = [aws_lambda_function.this]
}

run "groups_without_subnets" {
  command = plan

  variables {
    lambda_security_group_ids = ["sg-1"]
  }

  expect_failures = [aws_lambda_function.this]
}

run "wrong_values_4" {
  command = plan

  variables {
    lambda_architecture         = "arm"
    lambda_memory_size          = 127
    lambda_timeouts             = { watchdog = 901 }
    lambda_reserved_concurrency = 1
    lambda_subnet_ids           = [for n in range(17) : "subnet-${n}"]
    lambda_security_group_ids   = [for n in range(6) : "sg-${n}"]
    log_retention_in_days       = 31
  }

  expect_failures = [
    var.lambda_architecture, var.lambda_memory_size, var.lambda_timeouts, var.lambda_reserved_concurrency,
    var.lambda_subnet_ids, var.lambda_security_group_ids, var.log_retention_in_days,
  ]
}

run "wrong_values_5" {
  command = plan

  variables {
    lambda_memory_size          = 512.5
    lambda_timeouts             = { recorder = 9 }
    lambda_reserved_concurrency = 2.5
  }

  expect_failures = [var.lambda_memory_size, var.lambda_timeouts, var.lambda_reserved_concurrency]
}

run "keys_for_everything" {
  command = plan

  variables {
    kms_keys = {
      table     = "arn:aws:kms:eu-west-1:111122223333:key/t"
      queues    = "arn:aws:kms:eu-west-1:111122223333:key/q"
      logs      = "arn:aws:kms:eu-west-1:111122223333:key/l"
      schedules = "arn:aws:kms:eu-west-1:111122223333:key/s"
    }
  }

  assert {
    condition     = one(aws_dynamodb_table.this[0].server_side_encryption).kms_key_arn == var.kms_keys.table && aws_sqs_queue.unsettled[0].kms_master_key_id == var.kms_keys.queues && aws_cloudwatch_log_group.this["watchdog"].kms_key_id == var.kms_keys.logs
    error_message = "Each has its key."
  }

  assert {
    condition     = output.ledger.kms_keys.schedules == var.kms_keys.schedules && jsondecode(output.logs_key_statement_json).Principal.Service == "logs.eu-west-1.amazonaws.com"
    error_message = "The output `ledger` has the keys for the jobs, and the statement for the key of the logs is an output."
  }
}

run "a_table_that_exists" {
  command = plan

  variables {
    create_table = false
  }

  assert {
    condition     = length(aws_dynamodb_table.this) == 0 && output.table_arn == "arn:aws:dynamodb:eu-west-1:111122223333:table/runs" && output.url == "dynamodb://runs?region=eu-west-1"
    error_message = "It is known by its name."
  }
}

run "a_key_of_another_region" {
  command = plan

  variables {
    kms_keys = { table = "arn:aws:kms:us-east-1:111122223333:key/t" }
  }

  expect_failures = [aws_lambda_function.this]
}

run "a_key_of_another_account" {
  command = plan

  variables {
    kms_keys = { table = "arn:aws:kms:eu-west-1:444455556666:key/t" }
  }

  expect_failures = [check.key_of_another_account]
}

run "a_key_of_another_account_acknowledged" {
  command = plan

  variables {
    kms_keys              = { table = "arn:aws:kms:eu-west-1:444455556666:key/t" }
    acknowledged_warnings = ["key-of-another-account"]
  }
}

run "an_alias" {
  command = plan

  variables {
    kms_keys = { logs = "arn:aws:kms:eu-west-1:111122223333:alias/runs" }
  }

  expect_failures = [var.kms_keys]
}
