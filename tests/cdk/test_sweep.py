"""Every public argument of every construct, with values of every kind: it works, or the error is our own."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler

from cronce import Policy
from cronce_cdk import ClockJob, CommandTarget, ConstructConfigError, PinnedScheduler, RunLedger, ScheduledTask
from tests.cdk.shop import Shop

pytestmark = pytest.mark.slow

TOKENS: dict[str, Callable[[], object]] = {
    "text token": lambda: cdk.Aws.STACK_NAME,
    "number token": lambda: cdk.Token.as_number(cdk.Aws.STACK_NAME),
    "list token": lambda: cdk.Token.as_list(cdk.Aws.NOTIFICATION_ARNS),
}
VALUES: dict[str, object] = {
    "None": None,
    "empty text": "",
    "text": "x",
    "long text": "x" * 9000,
    "control characters": "a\nb\0",
    "script": "日報 \U0001f600",
    "bytes": b"x",
    "zero": 0,
    "negative": -1,
    "large": 10**12,
    "fraction": 0.5,
    "not a number": float("nan"),
    "true": True,
    "empty list": [],
    "list of None": [None],
    "list of text": ["x"],
    "list of numbers": [1],
    "tuple": ("x",),
    "set": {"x"},
    "empty mapping": {},
    "mapping of None": {"A": None},
    "mapping of numbers": {"A": 1},
    "mapping with a number": {1: "x"},
    "mapping of text": {"A": "x"},
    "object": object(),
    "class": int,
    "function": len,
    "duration": timedelta(minutes=5),
    "no duration": timedelta(0),
    "negative duration": timedelta(days=-1),
    "long duration": timedelta(days=10_000),
    "naive time": datetime(2026, 1, 1),  # noqa: DTZ001  # that is the point
    "policy": Policy(),
    "cdk duration": cdk.Duration.minutes(5),
    "cdk zone": cdk.TimeZone.EUROPE_BERLIN,
    "cdk expression": scheduler.ScheduleExpression.rate(cdk.Duration.minutes(5)),
    "launch type": ecs.LaunchType.EC2,
    "strategy": [ecs.CapacityProviderStrategy(capacity_provider="FARGATE")],
    "selection": ec2.SubnetSelection(subnets=[]),
    "image": ecs.ContainerImage.from_registry("x"),
    "target": CommandTarget(["true"]),
    "clock job": {"job": ClockJob(every=timedelta(minutes=1), target=CommandTarget(["true"]))},
}


def _arguments(construct: type) -> list[str]:
    parameters = inspect.signature(construct.__init__).parameters.values()  # type: ignore[misc]  # of the class
    return [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]


CONSTRUCTS: dict[type, Callable[[Shop], dict[str, Any]]] = {
    RunLedger: lambda shop: {"clusters": [shop.cluster]},
    ScheduledTask: lambda shop: {
        "ledger": shop.ledger,
        "schedule": "0 6 * * *",
        "cluster": shop.cluster,
        "task_definition": shop.task_definition,
    },
    PinnedScheduler: lambda shop: {
        "ledger": shop.ledger,
        "cluster": shop.cluster,
        "image": ecs.ContainerImage.from_registry("x"),
        "command": ["beat"],
    },
}
JOB_FIELDS = [each for each in inspect.signature(ClockJob).parameters if each != "target"]
CASES = [(construct, argument) for construct in CONSTRUCTS for argument in _arguments(construct)]
NUMBERS = itertools.count()


def values_of_every_kind(shop: Shop) -> dict[str, object]:
    """Every kind of value, tokens and constructs of another kind included."""
    constructs = {"a queue": shop.ledger.dead_letter_queue, "a ledger": shop.ledger, "a VPC": shop.cluster.vpc}
    return {**VALUES, **{name: make() for name, make in TOKENS.items()}, **constructs}


def raw_error(make: Callable[[], object]) -> str | None:
    """What came through that is not our own error, which names construct, argument and what is allowed."""
    try:
        make()
    except ConstructConfigError as error:
        return None if error.path and error.argument and error.allowed else f"says too little: {error}"
    except Exception as error:  # noqa: BLE001  # whatever it is, the test reports it
        return f"{type(error).__name__}: {str(error)[:150]}"
    return None


@pytest.mark.parametrize(("construct", "argument"), CASES)
def test_a_value_of_any_kind_works_or_gets_our_own_error(shared_shop: Shop, construct: type, argument: str) -> None:
    """Nothing of jsii's or CDK's comes through."""
    found = {
        name: raw_error(
            lambda value=value: construct(  # type: ignore[misc]  # bound in the loop
                shared_shop.stack,
                f"Sweep{next(NUMBERS)}",
                **{**CONSTRUCTS[construct](shared_shop), argument: value},
            )
        )
        for name, value in values_of_every_kind(shared_shop).items()
    }
    assert {name: raw for name, raw in found.items() if raw} == {}


@pytest.mark.parametrize("field", JOB_FIELDS)
def test_a_field_of_a_clocks_job_works_or_gets_our_own_error(shared_shop: Shop, field: str) -> None:
    """The same."""
    found = {}
    for name, value in values_of_every_kind(shared_shop).items():
        fields: dict[str, Any] = {"target": CommandTarget(["true"]), field: value}
        if field not in ("schedule", "every"):
            fields |= {"schedule": "0 6 * * *"} if field in ("timezone", "period") else {"every": timedelta(minutes=1)}
        arguments = {**CONSTRUCTS[PinnedScheduler](shared_shop), "command": None}
        found[name] = raw_error(
            lambda fields=fields, arguments=arguments: PinnedScheduler(  # type: ignore[misc]  # bound in the loop
                shared_shop.stack, f"Sweep{next(NUMBERS)}", jobs={"job": ClockJob(**fields)}, **arguments
            )
        )
    assert {name: raw for name, raw in found.items() if raw} == {}


NOT_CALLED = frozenset({"grant_principal", "let_claim"})


def _methods(kind: type) -> list[tuple[type, str, str]]:
    """Each public method that grants, measures or alarms, with each of its parameters."""
    return [
        (kind, name, parameter)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if name.startswith(("grant_", "let_start", "metric", "alarm_")) and name not in NOT_CALLED
        for parameter in list(inspect.signature(method).parameters)[1:]
    ]


OF_METHODS: dict[str, Callable[[Shop], object]] = {
    "grantee": lambda shop: iam.Role(shop.stack, f"Role{next(NUMBERS)}", assumed_by=iam.AccountRootPrincipal()),
    "construct_id": lambda _: f"Alarm{next(NUMBERS)}",
    "metric_name": lambda _: "RunSucceeded",
    "job": lambda _: None,
    "clock": lambda _: "clock",
    "within": lambda _: timedelta(hours=1),
}
"""Usable arguments, for those that the sweep does not change."""


@pytest.mark.parametrize(("kind", "name", "parameter"), [each for kind in CONSTRUCTS for each in _methods(kind)])
def test_a_method_takes_a_value_of_any_kind_or_gets_our_own_error(
    shared_shop: Shop, kind: type, name: str, parameter: str
) -> None:
    """Also after the construct was made, nothing of jsii's or CDK's comes through."""
    made = _made(shared_shop, kind)
    method = getattr(made, name)
    known = {each: OF_METHODS[each] for each in inspect.signature(method).parameters if each in OF_METHODS}
    if name == "grant_claim":
        known["job"] = lambda _: "digest"
    found = {
        label: raw_error(
            lambda value=value: method(  # type: ignore[misc]  # bound in the loop
                **{each: make(shared_shop) for each, make in known.items() if each != parameter}, **{parameter: value}
            )
        )
        for label, value in values_of_every_kind(shared_shop).items()
    }
    assert {label: raw for label, raw in found.items() if raw} == {}


def _made(shop: Shop, kind: type) -> object:
    """The one construct of that kind in the shop; its other tests do not change it."""
    if kind is RunLedger:
        return shop.ledger
    job = ClockJob(every=timedelta(minutes=1), target=CommandTarget(["true"]))
    name = f"Of{kind.__name__}"
    if found := shop.stack.node.try_find_child(name):
        return found
    arguments = CONSTRUCTS[kind](shop) | {"ledger": RunLedger(shop.stack, f"{name}Ledger")}
    more = {"command": None, "jobs": {"job": job}} if kind is PinnedScheduler else {}
    return kind(shop.stack, name, **{**arguments, **more})
