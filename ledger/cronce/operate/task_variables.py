"""Variables of a task that name another period than its tick's, or another ledger. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from cronce.ecs import JobDefinition
from cronce.operate.advice import Step
from cronce.operate.diagnosis import Diagnosis
from cronce.operate.wording import visible
from cronce.stores.urls import is_same_ledger
from cronce.vocabulary.environment import LEDGER, PERIOD
from cronce.vocabulary.ledger_urls import is_in_dynamodb, without_password


def wrong_variable(job: JobDefinition, of_revision: Mapping[str, str], url: str) -> Diagnosis | None:
    """What is wrong with the variables of the job's tasks; None if they name the tick's period and this ledger.

    Args:
        job: The job as its schedule defines it.
        of_revision: The variables of its container in the task definition.
        url: URL of the ledger that is looked at; empty if that is not known.
    """
    given = {**of_revision, **job.variables}
    if period := given.get(PERIOD):
        where = "schedule" if PERIOD in job.variables else "task definition"
        return Diagnosis(
            code="period-fixed",
            sentence=f"Its {where} sets {PERIOD}, so every task claims {visible(period)} instead of its tick's period.",
            steps=(Step(f"Remove {PERIOD} from the {where}, and deploy the stack."),),
        )
    other = given.get(LEDGER, "")
    if is_in_dynamodb(url) and is_in_dynamodb(other) and not is_same_ledger(other, url):
        place = without_password(other)
        return Diagnosis(
            code="other-ledger",
            sentence=f"Its task asks another ledger ({visible(place)}), so its runs are recorded there.",
            steps=(
                Step("To see it there:", shlex.join(["cronce", "why", f"--ledger={place}", "--", job.job])),
                Step(f"If that is a mistake, correct {LEDGER} and deploy the stack."),
            ),
        )
    return None
