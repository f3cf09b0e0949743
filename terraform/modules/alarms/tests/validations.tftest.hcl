# Every validation, precondition and check of this module, without credentials: `terraform test`.
mock_provider "aws" {}

variables {
  ledger = { name = "runs" }
}

run "good" {
  command = plan

  variables {
    jobs   = { daily-digest = { missed = false } }
    clocks = { clock = { no_tick = "26h" } }
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.happened) == 8 + 3
    error_message = "Eight of the ledger, three of the job."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.silence["clock/no_tick"].period == 3600 && aws_cloudwatch_metric_alarm.silence["clock/no_tick"].evaluation_periods == 26
    error_message = "CloudWatch evaluates more than a day by the hour."
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create = false
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.happened) + length(aws_cloudwatch_metric_alarm.queue) == 0
    error_message = "Nothing is created."
  }
}

run "wrong_values_1" {
  command = plan

  variables {
    ledger = { name = "a/b" }
    jobs   = { "café" = {} }
    clocks = { clock = { no_leader = "30s" } }
  }

  expect_failures = [var.ledger, var.jobs, var.clocks]
}

run "wrong_values_2" {
  command = plan

  variables {
    clocks = { clock = { no_tick = "8d" } }
  }

  expect_failures = [var.clocks]
}
