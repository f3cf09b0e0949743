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
  ledger    = { name = "runs" }
  role_name = "on-call"
}

run "good" {
  command = plan

  assert {
    condition     = length(jsondecode(aws_iam_role_policy.this[0].policy).Statement) == 12
    error_message = "No log may be read by default."
  }

  assert {
    condition     = aws_iam_role_policy.this[0].name == "runs-operate"
    error_message = "The name follows from the ledger's."
  }
}

run "nothing" {
  command = plan

  variables {
    create = false
  }

  assert {
    condition     = length(aws_iam_role_policy.this) == 0
    error_message = "Nothing is created."
  }
}

run "wrong_values" {
  command = plan

  variables {
    ledger         = { name = "a/b" }
    cluster_arns   = ["main"]
    log_group_arns = ["/shop"]
  }

  expect_failures = [var.ledger, var.cluster_arns, var.log_group_arns]
}

run "an_external_ledger" {
  command = plan

  variables {
    ledger = { name = "cache.example.com:6379", url_secret = { arn = "arn:aws:ssm:eu-west-1:111122223333:parameter/url" } }
  }

  expect_failures = [var.ledger]
}
