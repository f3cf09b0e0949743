"""Whether the ledger's own machines work: recorder, watchdog, their rules and sources, pinned clocks, and alarms.

For any number of jobs at most: ten pages of ListFunctions and of DescribeAlarms; for each of the two functions one
GetFunctionConcurrency, one ListEventSourceMappings, one ListRuleNamesByTarget, and one DescribeRule per rule (10); one
DescribeServices and one GetItem per clock (20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.ecs import Launcher
from cronce.operate import checks
from cronce.operate.advice import Commands
from cronce.operate.aws_requests import AwsRequests
from cronce.operate.checks import Review, State, ok, some, unknown
from cronce.operate.gathering import why_not
from cronce.stores.urls import is_same_ledger
from cronce.vocabulary.environment import LEDGER, PINNED_SERVICES
from cronce.vocabulary.errors import CronceError
from cronce.vocabulary.names import ledger_name
from cronce.vocabulary.payloads import decode_json

_MOST_CLOCKS, _MOST_RULES = 20, 10
_WITHOUT = {"recorder": "lost runs are not settled", "watchdog": "missed ticks are not recorded"}


class Machinery:
    """Checks what records and watches the runs of a ledger."""

    def __init__(
        self,
        launcher: Launcher,
        aws: AwsRequests,
        ledger: Ledger,
        url: str,
        *,
        now: Callable[[], datetime],
        commands: Commands,
    ) -> None:
        self._launcher, self._aws, self._ledger, self._url, self._now = launcher, aws, ledger, url, now
        self._commands = commands

    def checks(self) -> Iterator[Review]:
        """Every check."""
        found = self._aws.pages("lambda", "list_functions", "Functions", "Marker", "NextMarker")
        if isinstance(found, Review):
            yield Review("functions", State.UNKNOWN, found.sentence)
        else:
            every, is_all = found
            ours = [each for each in every if is_same_ledger(_variables_of(each).get(LEDGER, ""), self._url)]
            yield from self._functions(ours, "" if is_all else f"among the first {len(every)} functions ")
        yield from self._alarms()

    def _functions(self, ours: list[Mapping[str, Any]], searched: str) -> Iterator[Review]:
        """The checks of the functions; `searched` says where they were looked for, empty if everywhere."""
        handlers = {str(each.get("Handler")): each for each in ours}
        for role, without in _WITHOUT.items():
            function = next((each for handler, each in handlers.items() if f".{role}." in handler), None)
            if function is None:
                state = State.UNKNOWN if searched else State.PROBLEM
                yield Review("functions", state, f"no function {searched}is the {role} of this ledger", without)
                continue
            name = str(function.get("FunctionName"))
            wrong = [*self._of_function(function, name, without)]
            yield from wrong or [ok("functions", f"{name} is the {role}")]
            yield from self._of_rules(str(function.get("FunctionArn") or ""), role, without)
            if role == "watchdog":
                for service in _pinned(_variables_of(function).get(PINNED_SERVICES, ""))[:_MOST_CLOCKS]:
                    yield self._of_clock(service)

    def _of_function(self, function: Mapping[str, Any], name: str, without: str) -> Iterator[Review]:
        if function.get("State", "Active") != "Active":
            why = str(function.get("StateReason") or without)
            yield Review("functions", State.PROBLEM, f"{name} is {function.get('State')}", why)
        answer = self._aws.ask("lambda", "get_function_concurrency", name, FunctionName=name)
        if isinstance(answer, Review):
            yield Review("functions", State.UNKNOWN, answer.sentence)
        elif answer.get("ReservedConcurrentExecutions") == 0:
            undo = f"aws lambda delete-function-concurrency --function-name {name}"
            yield Review(
                "functions", State.PROBLEM, f"{name} may not run: its reserved concurrency is 0", without, undo
            )
        answer = self._aws.ask("lambda", "list_event_source_mappings", name, FunctionName=name)
        if isinstance(answer, Review):
            yield Review("functions", State.UNKNOWN, answer.sentence)
            return
        off = [each for each in answer.get("EventSourceMappings", ()) if each.get("State") in ("Disabled", "Disabling")]
        for each in off:
            source = str(each.get("EventSourceArn")).rpartition(":")[2]
            on = f"aws lambda update-event-source-mapping --uuid {each.get('UUID')} --enabled"
            why = "the causes of ticks that could not be started stay in that queue"
            yield Review("functions", State.PROBLEM, f"{name} does not read {source}: its mapping is disabled", why, on)

    def _of_rules(self, arn: str, role: str, without: str) -> Iterator[Review]:
        """Whether EventBridge invokes the function."""
        answer = self._aws.ask("events", "list_rule_names_by_target", arn, TargetArn=arn)
        if isinstance(answer, Review):
            yield Review("rules", State.UNKNOWN, answer.sentence)
            return
        names = [str(name) for name in answer.get("RuleNames", ())][:_MOST_RULES]
        rules = [self._aws.ask("events", "describe_rule", name, Name=name) for name in names]
        off = [name for name, rule in zip(names, rules, strict=True) if _state(rule) == "DISABLED"]
        if not names:
            yield Review(
                "rules", State.PROBLEM, f"no rule of EventBridge invokes the {role}", f"{without}: deploy the stack"
            )
        elif off:
            on = f"aws events enable-rule --name {off[0]}"
            yield Review("rules", State.PROBLEM, f"disabled, and invokes the {role} no more: {some(off)}", without, on)
        elif refused := next((rule for rule in rules if isinstance(rule, Review)), None):
            yield Review("rules", State.UNKNOWN, refused.sentence)
        else:
            yield ok("rules", f"{some(names)} invokes the {role}")

    def _of_clock(self, service: Mapping[str, str]) -> Review:
        name = service.get("job") or service["service"]
        try:
            ask = partial(self._launcher.ecs.call, "describe_services", name)
            answer = ask(cluster=service["cluster"], services=[service["service"]])
            leader = self._ledger.run(name, LEADER)
        except CronceError as error:
            return unknown("clock", f"{name}: {why_not(error)}")
        active = [each for each in answer.get("services", ()) if each.get("status") == "ACTIVE"]
        desired = int(active[0]["desiredCount"]) if active else None
        running = int(active[0].get("runningCount", 0)) if active else 0
        return checks.clock(name, leader, desired, running, self._now(), commands=self._commands)

    def _alarms(self) -> Iterator[Review]:
        found = self._aws.pages("cloudwatch", "describe_alarms", "MetricAlarms", "NextToken", "NextToken")
        if isinstance(found, Review):
            yield Review("alarms", State.UNKNOWN, found.sentence)
        else:
            every, is_all = found
            yield from checks.alarms(every, ledger_name(self._url), is_all=is_all)


def _state(rule: object) -> str:
    return str(rule.get("State")) if isinstance(rule, Mapping) else ""


def _variables_of(function: Mapping[str, Any]) -> Mapping[str, str]:
    variables: Mapping[str, str] = (function.get("Environment") or {}).get("Variables") or {}
    return variables


def _pinned(text: str) -> list[Mapping[str, str]]:
    value = decode_json(text or "[]")
    every = value if isinstance(value, list) else []
    return [each for each in every if isinstance(each, dict) and {"cluster", "service"} <= each.keys()]
