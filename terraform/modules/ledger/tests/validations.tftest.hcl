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
    condition     = length(aws_lambda_function.rerun) + length(aws_iam_role.rerun) + length(aws_cloudwatch_log_group.rerun) == 0
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

run "nothing_with_create_false" {
  command = plan

  variables {
    create                = false
    create_rerun_function = true
  }

  assert {
    condition     = length(aws_dynamodb_table.this) + length(aws_lambda_function.recorder) + length(aws_iam_role.watchdog) + length(aws_lambda_function.rerun) == 0
    error_message = "Nothing is created."
  }

  assert {
    condition     = output.url == null && output.ledger.name == "runs"
    error_message = "The outputs are null, apart from the name."
  }
}

run "boundary_on_every_role" {
  command = plan

  variables {
    iam_role_permissions_boundary = "arn:aws:iam::111122223333:policy/boundary"
  }

  assert {
    condition     = alltrue([for role in [aws_iam_role.recorder[0], aws_iam_role.watchdog[0]] : role.permissions_boundary == "arn:aws:iam::111122223333:policy/boundary"])
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
    condition     = length(aws_lambda_function.watchdog[0].function_name) <= 64
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
    condition     = length(aws_lambda_function.recorder[0].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
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
    condition     = length(aws_lambda_function.recorder[0].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
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
    condition     = length(aws_lambda_function.recorder[0].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
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
    condition     = length(aws_lambda_function.recorder[0].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
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
    condition     = length(aws_lambda_function.recorder[0].function_name) <= 64 && length(aws_cloudwatch_event_rule.task_stopped[0].name) <= 64
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
    condition     = aws_lambda_function.recorder[0].filename == null && aws_lambda_function.recorder[0].s3_key == "cronce.zip"
    error_message = "From the bucket."
  }
}

run "two_archives" {
  command = plan

  variables {
    lambda_archive_s3 = { bucket = "code", key = "cronce.zip", sha256_base64 = "vHaIWW4LlFtsUJ4TeDRtl3LchWr/bYdbpDIWD3N6310=" }
  }

  expect_failures = [aws_lambda_function.recorder]
}

run "no_archive" {
  command = plan

  variables {
    lambda_archive = "no-such-file.zip"
  }

  expect_failures = [aws_lambda_function.recorder]
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
