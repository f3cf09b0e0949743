"""`cronce rerun --through`: the ledger's rerun function starts the task, and the command says what came of it."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from contextlib import redirect_stderr
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cronce.aws.sdk import Service
from cronce.ecs import Launcher
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce_lambdas.rerun import Reruns
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import GROUP, Fleet
from tests.support.builders import JOB, run
from tests.support.cloud import client_error

PERIOD = "2026-11-27T05:00:00Z"
BEFORE = "2026-11-26T05:00:00Z"


class RerunLambda:
    """Lambda with the ledger's rerun function, as a client.

    Attributes:
        payloads: What it was invoked with.
        answer: What it answers instead of the function's own answer.
        failure: What it raises.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.payloads: list[dict[str, Any]] = []
        self.answer: dict[str, Any] | None = None
        self.failure: Exception | None = None
        launcher = Launcher(group=GROUP, scheduler=fleet, ecs=fleet)
        self._reruns = Reruns(ledger=fleet.ledger, launcher=launcher, name="runs")

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        """As Lambda (API Reference, Invoke)."""
        assert FunctionName == "runs-rerun"
        if self.failure:
            raise self.failure
        if self.answer is not None:
            return self.answer
        self.payloads.append(json.loads(Payload))
        with redirect_stderr(io.StringIO()):  # its log is elsewhere
            return answered(self._reruns.answer(self.payloads[-1]))


def answered(document: object, **more: str) -> dict[str, Any]:
    """The answer of Invoke with that document."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return {"StatusCode": 200, "Payload": io.BytesIO(text), **more}


@pytest.fixture
def function(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> RerunLambda:
    """The function, and on-call's environment: no schedule group, and nothing that the person may read there."""
    found = RerunLambda(fleet)
    monkeypatch.setattr("cronce.cli.actions.through.Service", partial(Service, client=found))
    monkeypatch.setattr("cronce.ecs.Launcher", None)  # the command itself must not use one
    monkeypatch.delenv("CRONCE_SCHEDULE_GROUP")
    monkeypatch.setenv("CRONCE_RERUN_FUNCTION", "runs-rerun")
    return found


def test_a_real_client_invokes_it(
    fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path, payload and answer as botocore makes them; the answer's body is a stream."""
    fleet.add_job(JOB)

    class Lambda(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/2015-03-31/functions/runs-rerun/invocations"
            payload = self.rfile.read(int(self.headers["Content-Length"]))
            body = function.invoke(FunctionName="runs-rerun", Payload=payload)["Payload"].read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Lambda) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            endpoint = f"http://127.0.0.1:{server.server_port}"
            for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "REGION": "eu-west-1"}.items():
                monkeypatch.setenv(f"AWS_{name}", value)
            monkeypatch.setattr("cronce.cli.actions.through.Service", partial(Service, endpoint=endpoint))
            said = cronce("rerun", JOB, PERIOD, "--reason", "why", "--actor", "ann")
        finally:
            server.shutdown()
    assert (said.code, said.err) == (0, "")
    assert function.payloads == [{"job": JOB, "period": PERIOD, "actor": "ann", "reason": "why"}]


def test_on_call_types_the_same_command(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """The function is in the environment. The person names job, period and reason, and no command."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--reason", "mail server was down", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"Arranged {JOB} {PERIOD}: attempt 1. Its task starts within two minutes.",
        "It claims the run when its container is up. To see the run:",
        f"  cronce show {JOB} {PERIOD}",
    ]
    assert function.payloads == [{"job": JOB, "period": PERIOD, "actor": "ann", "reason": "mail server was down"}]
    assert len(fleet.one_shots) == 1
    assert fleet.requests == []


def test_followed_to_its_end(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """By the ledger alone; who asked, and why, is in it afterwards."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--follow", "--reason", "why not", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    arranged, at_work, ended = said.out.splitlines()
    assert arranged.startswith(f"Arranged {JOB} {PERIOD}: attempt 1.")
    assert at_work.startswith("Running: attempt 1 by task ")
    assert ended.startswith(f"{JOB} {PERIOD} SUCCEEDED, took ")
    after = fleet.ledger.run(JOB, PERIOD)
    assert after is not None
    assert (after.trigger, after.actor, after.note) == (Trigger.MANUAL, "ann", "why not")
    assert len(function.payloads) == 1
    assert fleet.requests == []


def test_followed_to_a_failure_is_1(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """With its reason."""
    fleet.add_job(JOB)
    fleet.does[PERIOD] = "fail"
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert said.code == 1
    assert "FAILED: error (exit code 3), the mail server said no" in said.out
    assert function.payloads[0].keys() == {"job", "period", "actor"}


def test_a_task_that_never_claims_is_not_waited_for_without_end(
    fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody here may ask ECS: after ten minutes it is unknown."""
    fleet.add_job(JOB)
    fleet.does[PERIOD] = "die"
    monkeypatch.setattr("cronce.cli.actions.follow._LONGEST_UNSEEN", timedelta(0))
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert said.code == 1
    assert "unknown: no claim came within" in said.out
    assert f"cronce show {JOB} {PERIOD}" in " ".join(said.out.split())
    assert len(function.payloads) == 1


def test_the_answers_of_the_rules_are_those_of_a_rerun_without_it(
    ledger_file: LedgerFile, fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]
) -> None:
    """The same words and suggestions; the option is repeated where the environment has it not."""
    fleet.add_job(JOB, policy=Policy(on_lost=OnLost.HOLD))
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED, attempt=2))
    ledger_file.put(run(period=BEFORE, status=Status.FAILED, reason=Reason.LEASE_LOST))
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "is not started: it has succeeded (" in said.err
    assert f"attempt 2. To repeat it anyway: cronce rerun --force --reason WHY {JOB} {PERIOD}" in said.err
    by_option = cronce("rerun", JOB, PERIOD, "--through", "runs-rerun")
    assert f"cronce rerun --through=runs-rerun --force --reason WHY {JOB} {PERIOD}" in by_option.err
    held = cronce("rerun", JOB, BEFORE)
    assert f"cronce release --reason WHY {JOB} {BEFORE}" in held.err
    assert len(function.payloads) == 3
    assert fleet.one_shots == {}


def test_a_forced_repeat(
    ledger_file: LedgerFile, fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]
) -> None:
    """Its reason stays in the ledger."""
    fleet.add_job(JOB)
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED, owner="first"))
    said = cronce("rerun", JOB, PERIOD, "--force", "--reason", "half went to spam", "--actor", "ann", "--follow")
    assert said.code == 0
    after = fleet.ledger.run(JOB, PERIOD)
    assert after is not None
    assert (after.attempt, after.note, after.actor) == (2, "half went to spam", "ann")
    assert function.payloads[0]["force"] is True


def test_another_run_at_work_is_named(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """As the reason why the run is not started."""
    fleet.add_job(JOB)
    holder = fleet.ledger.claim(JOB, BEFORE)
    assert holder
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert f"another run of the job is active: {BEFORE}, attempt 1 by" in said.err
    assert len(function.payloads) == 1


@pytest.mark.usefixtures("function")
def test_under_replace_it_is_said_whom_it_stops(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """As the policy wants it."""
    policy = Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)
    fleet.add_job(JOB, policy=policy)
    assert fleet.ledger.claim(JOB, BEFORE, policy=policy)
    assert f"It will stop {BEFORE}, attempt 1 by" in cronce("rerun", JOB, PERIOD).out


def test_asked_twice(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """One task, and the second is told that its reason is not recorded."""
    fleet.add_job(JOB)
    assert cronce("rerun", JOB, PERIOD).code == 0
    said = cronce("rerun", JOB, PERIOD, "--reason", "me too")
    assert said.code == 0
    assert "was arranged before" in said.out
    assert (len(fleet.one_shots), len(function.payloads)) == (1, 2)


@pytest.mark.parametrize(
    ("about", "code", "why"),
    [
        ((JOB, "2026-11-27"), 64, "its period is no tick of the schedule"),
        ((JOB, "2199-01-01T05:00:00Z"), 64, "its period has not come yet"),
        (("other", PERIOD), 1, "no schedule of the group runs is for the job other"),
    ],
)
@pytest.mark.usefixtures("function")
def test_what_the_function_does_not_accept(
    fleet: Fleet, cronce: Callable[..., Said], about: tuple[str, str], code: int, why: str
) -> None:
    """One line, and the code of a rerun without it."""
    fleet.add_job(JOB)
    said = cronce("rerun", *about)
    assert (said.code, said.out, said.err.count("\n")) == (code, "", 1)
    assert f"cronce: {' '.join(about)} is not started: {why}" in said.err


def test_as_a_document(fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said]) -> None:
    """The ARN of the task is not known."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--json")
    document = json.loads(said.out)
    assert (document["started"], document["attempt"], document["task"], document["run"]) == (True, 1, None, None)
    refused = json.loads(cronce("rerun", "other", PERIOD, "--json").out)
    assert (refused["started"], refused["reason"]) == (False, "UNKNOWN_JOB")
    assert len(function.payloads) == 2


@pytest.mark.parametrize(
    "options",
    [
        ["--unscheduled"],
        ["--through", "a b"],
        ["--through", "arn:aws:lambda:eu-west-1:111122223333:function:runs-rerun:live"],
        ["--through", "\x1b[31m"],
        ["--force"],
        ["--reason", "x" * 1001],
    ],
)
def test_what_cannot_be_asked_is_bad_usage(
    fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said], options: list[str]
) -> None:
    """64, one line, and the function is not invoked."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, *options)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "\x1b" not in said.err
    assert function.payloads == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answered({"errorMessage": "the ledger\x1b[31m is away"}, FunctionError="Unhandled"), "the ledger"),
        (answered({"errorMessage": "Task timed out"}, FunctionError="Unhandled"), "Task timed out"),
        (answered([], FunctionError="Unhandled"), "Unhandled"),
        (answered(b"<html>"), "invoke runs-rerun"),
        (answered(b"[" * 100_000), "invoke runs-rerun"),
        (answered(b"\xff"), "invoke runs-rerun"),
        (answered(None), "not one of a rerun function"),
        (answered([]), "not one of a rerun function"),
        (answered({}), "not one of a rerun function"),
        (answered({"ok": True}), "not one of a rerun function"),
        (answered({"started": False, "reason": "NEW"}), "not one of a rerun function"),
        (answered({"started": True, "course": "FLY", "forced": False, "before": False}), "not one of a rerun function"),
        (answered({"started": False, "reason": "HELD", "run": {"job": 1}}), "not one of a rerun function"),
        (answered({"started": False, "reason": "ALREADY_SUCCEEDED", "run": None}), "not one of a rerun function"),
    ],
)
def test_an_answer_that_is_none_is_69(
    fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said], answer: dict[str, Any], why: str
) -> None:
    """One line, escaped; nothing is said to be started."""
    fleet.add_job(JOB)
    function.answer = answer
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert (said.code, said.out, said.err.count("\n")) == (69, "", 1)
    assert why in said.err
    assert "\x1b" not in said.err


@pytest.mark.parametrize(("code", "status"), [("AccessDeniedException", 403), ("TooManyRequestsException", 429)])
def test_what_lambda_refuses_is_69(
    fleet: Fleet, function: RerunLambda, cronce: Callable[..., Said], code: str, status: int
) -> None:
    """One line with the function's name."""
    fleet.add_job(JOB)
    function.failure = client_error("invoke", code, "no", status=status)
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.out, said.err.count("\n")) == (69, "", 1)
    assert code in said.err
    assert "runs-rerun" in said.err
