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
    condition     = length(aws_cloudwatch_metric_alarm.happened) == 11 + 3
    error_message = "Eleven of the ledger, three of the job."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.rerun_errors) == 0
    error_message = "There is no such function by default."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.silence["clock/no_tick"].period == 3600 && aws_cloudwatch_metric_alarm.silence["clock/no_tick"].evaluation_periods == 26
    error_message = "CloudWatch evaluates more than a day by the hour."
  }
}

run "with_the_rerun_function" {
  command = plan

  variables {
    rerun_function = true
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.rerun_errors) == 1
    error_message = "One alarm more."
  }
}

run "with_a_topic" {
  command = plan

  variables {
    notify_topic_arns = ["arn:aws:sns:eu-west-1:111122223333:alarms"]
  }

  assert {
    condition     = length(aws_cloudwatch_event_rule.notices) == 1 && length(aws_cloudwatch_event_target.notices) == 1
    error_message = "People are told of single runs."
  }
}

run "nothing_with_create_false" {
  command = plan

  variables {
    create         = false
    rerun_function = true
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.happened) + length(aws_cloudwatch_metric_alarm.queue) + length(aws_cloudwatch_metric_alarm.rerun_errors) == 0
    error_message = "Nothing is created."
  }
}

run "a_webhook" {
  command = plan

  variables {
    webhook = { connection_arn = "arn:aws:events:eu-west-1:111122223333:connection/hook/1", url = "https://hooks.example.com/in" }
  }

  assert {
    condition     = aws_cloudwatch_event_target.webhook[0].input_transformer[0].input_template == "{\"text\":<detail-text>}"
    error_message = "Without a channel, the text alone."
  }

  assert {
    condition     = length(aws_cloudwatch_event_target.notices) == 0 && keys(aws_cloudwatch_event_rule.notices) == ["webhook"]
    error_message = "Without a topic."
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
    clocks  = { clock = { no_tick = "8d" } }
    webhook = { connection_arn = "arn:aws:events:eu-west-1:111122223333:connection/hook/1", url = "https://user:secret@example.com/" }

    notify_topic_arns = [for number in range(6) : "arn:aws:sns:eu-west-1:111122223333:alarms-${number}"]
  }

  expect_failures = [var.clocks, var.webhook, var.notify_topic_arns]
}

run "a_webhook_without_a_connection" {
  command = plan

  variables {
    webhook = { connection_arn = "hook", url = "https://hooks.example.com/in" }
  }

  expect_failures = [var.webhook]
}

run "an_external_ledger_has_no_functions" {
  command = plan

  variables {
    ledger = { name = "cache.example.com:6379", url_secret = { arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/url" } }
    jobs   = { digest = {} }
  }

  assert {
    condition     = length([for name in keys(aws_cloudwatch_metric_alarm.happened) : name if !strcontains(name, "/")]) == 9 && length(aws_cloudwatch_metric_alarm.queue) == 0
    error_message = "No alarm on what only a function reports."
  }

  assert {
    condition     = contains(keys(aws_cloudwatch_metric_alarm.happened), "digest/lost") && !contains(keys(aws_cloudwatch_metric_alarm.happened), "digest/launch_failed")
    error_message = "Nor of a job."
  }
}

run "the_rerun_function_of_an_external_ledger" {
  command = plan

  variables {
    ledger         = { name = "cache.example.com:6379", url_secret = { arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/url" } }
    rerun_function = true
  }

  expect_failures = [aws_cloudwatch_metric_alarm.rerun_errors]
}
