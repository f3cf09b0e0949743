"""Whether the dead letters of the jobs' schedules arrive somewhere.

For any number of jobs at most two requests of SQS per dead-letter queue (10).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from cronce.ecs import JobDefinition
from cronce.operate.aws_requests import AwsRequests
from cronce.operate.checks import Review, State, ok, some
from cronce.operate.wording import count
from cronce.vocabulary.payloads import decode_json

_MOST_QUEUES = 10


def queues(jobs: Sequence[JobDefinition], aws: AwsRequests) -> Iterator[Review]:
    """Whether each job has a dead-letter queue, which exists and is empty."""
    without = [job.job for job in jobs if not job.target.get("DeadLetterConfig", {}).get("Arn")]
    if without:
        why = "a tick whose task cannot be started leaves no cause"
        yield Review("dead-letters", State.WARNING, f"without a dead-letter queue: {some(without)}", why)
    arns = sorted({str(job.target["DeadLetterConfig"]["Arn"]) for job in jobs if job.job not in without})
    for arn in arns[:_MOST_QUEUES]:
        account, name = arn.split(":")[4:6]
        where = aws.ask("sqs", "get_queue_url", name, QueueName=name, QueueOwnerAWSAccountId=account)
        if isinstance(where, Review):
            missing = "NonExistent" in where.sentence or "DoesNotExist" in where.sentence
            why = "the cause of a tick that cannot be started is lost" if missing else ""
            yield Review("dead-letters", State.PROBLEM if missing else State.UNKNOWN, where.sentence, why)
            continue
        number, place = "ApproximateNumberOfMessages", where["QueueUrl"]
        answer = aws.ask("sqs", "get_queue_attributes", name, QueueUrl=place, AttributeNames=[number, "Policy"])
        if isinstance(answer, Review):
            yield Review("dead-letters", State.UNKNOWN, answer.sentence)
        elif _denies_messages(answer.get("Attributes", {}).get("Policy")):
            why = "the cause of a tick that cannot be started is lost: deploy the stack of the ledger, or correct it"
            show = shlex.join(
                ["aws", "sqs", "get-queue-attributes", "--queue-url", place, "--attribute-names", "Policy"]
            )
            yield Review("dead-letters", State.PROBLEM, f"the policy of {name} refuses messages", why, show)
        elif waiting := int(answer.get("Attributes", {}).get(number, 0)):
            why = "the recorder has not recorded them: look at its log"
            yield Review("dead-letters", State.WARNING, f"{count(waiting, 'message')} in {name}", why)
        else:
            yield ok("dead-letters", f"{name} is empty")


def _denies_messages(policy: object) -> bool:
    """True if a statement of the queue's policy denies sending, other than without TLS."""
    document = decode_json(policy) if isinstance(policy, str) else None
    statements = document.get("Statement") if isinstance(document, dict) else None
    for each in statements if isinstance(statements, list) else [statements]:
        if (
            not isinstance(each, dict)
            or each.get("Effect") != "Deny"
            or "aws:SecureTransport" in str(each.get("Condition"))
        ):
            continue
        given = each.get("Action")
        actions = given if isinstance(given, list) else [given]
        if any(str(action).lower() in ("*", "sqs:*", "sqs:send*", "sqs:sendmessage") for action in actions):
            return True
    return False
