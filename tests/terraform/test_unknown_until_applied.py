"""In a first plan nothing that other resources give is known; the modules must count without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce.portable.lambda_archive import lambda_archive
from tests.support.terraform import write_configuration
from tests.terraform.facts import planned_resources

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.terraform import Terraform

CONFIGURATION = """
variable "archive" {
  type = string
}

# Not its `id`, of which Terraform knows that it is not null: it knows that of no attribute of an AWS resource.
resource "terraform_data" "later" {
  input = timestamp()
}

locals {
  later = terraform_data.later.output
  keys  = { for name in ["table", "queues", "logs", "schedules"] : name => local.later }
}

module "ledger" {
  source = "MODULES/ledger"

  name                      = "runs"
  cluster_arns              = [local.later]
  lambda_archive            = var.archive
  kms_keys                  = local.keys
  lambda_subnet_ids         = [local.later]
  lambda_security_group_ids = [local.later]
  create_board_function     = true
  create_rerun_function     = true
  pinned_services           = { clock = { cluster_arn = local.later, service_name = local.later } }
}

module "job" {
  source   = "MODULES/scheduled-task"
  for_each = { digest = module.ledger.ledger, orders = module.outside.ledger }

  ledger              = each.value
  job                 = each.key
  schedule            = "cron(0 6 * * ? *)"
  cluster_arn         = local.later
  task_definition_arn = local.later
  container_name      = each.key
  task_role_arn       = local.later
  execution_role_arn  = local.later
  subnet_ids          = [local.later]
  security_group_ids  = [local.later]
}

module "clock" {
  source = "MODULES/pinned-clock"

  ledger             = module.ledger.ledger
  job                = "clock"
  cluster_arn        = local.later
  image              = local.later
  config             = { jobs = { ping = { every = "10s", target = { sqs = local.later } } } }
  task_role_policies = { Targets = local.later }
  subnet_ids         = [local.later]
  security_group_ids = [local.later]
}

module "alarms" {
  source = "MODULES/alarms"

  ledger            = module.ledger.ledger
  jobs              = { (module.job["digest"].job) = {} }
  clocks            = { clock = { no_leader = "5m" } }
  alarm_actions     = [local.later]
  notify_topic_arns = [local.later]
  webhook           = { connection_arn = local.later, url = local.later }
}

module "outside" {
  source = "MODULES/external-ledger"

  name               = "shop"
  url_secret_arn     = local.later
  url_kms_key_arn    = local.later
  cluster_arn        = local.later
  cluster_arns       = [local.later]
  image              = local.later
  subnet_ids         = [local.later]
  security_group_ids = [local.later]
}

module "pulse" {
  source = "MODULES/pinned-clock"

  ledger             = module.outside.ledger
  job                = "pulse"
  cluster_arn        = local.later
  image              = local.later
  command            = ["celery", "beat"]
  subnet_ids         = [local.later]
  security_group_ids = [local.later]
}

module "outside_alarms" {
  source = "MODULES/alarms"

  ledger = module.outside.ledger
}

module "operator" {
  source = "MODULES/operator"

  ledger         = module.ledger.ledger
  role_name      = local.later
  cluster_arns   = [local.later]
  log_group_arns = [local.later]
}
"""


@pytest.mark.lane("terraform")
def test_a_first_plan_knows_nothing_of_other_resources(terraform: Terraform, tmp_path: Path) -> None:
    """Each argument that is the attribute of another resource may be known only after the apply."""
    write_configuration(tmp_path, CONFIGURATION)
    archive = tmp_path / "cronce-lambdas.zip"
    archive.write_bytes(lambda_archive())
    planned = planned_resources(terraform.plan(tmp_path, archive=str(archive)))
    jobs = ('job["digest"]', 'job["orders"]')
    for module in (*jobs, "ledger", "clock", "alarms", "outside", "pulse", "outside_alarms", "operator"):
        assert any(address.startswith(f"module.{module}.") for address in planned), module
