"""The trace of a run."""

from __future__ import annotations

import pytest

from cronce.guard.trace_context import trace_context
from cronce.testing.records import run as running
from cronce.vocabulary.values import replace

TRACE, SPAN = "a" * 32, "b" * 16


def test_all_attempts_of_a_run_share_a_trace_and_each_has_a_span() -> None:
    """Also two processes of one attempt, if a lease was lost."""
    first = running()
    contexts = [trace_context(run, {}) for run in (first, replace(first, attempt=2), replace(first, token="another"))]
    assert len({context.trace for context in contexts}) == 1
    assert len({context.span for context in contexts}) == 3
    assert contexts[0] == trace_context(first, {})
    assert trace_context(replace(first, period="other"), {}).trace != contexts[0].trace
    assert str(contexts[0]) == f"00-{contexts[0].trace}-{contexts[0].span}-01"


@pytest.mark.parametrize(
    ("text", "parent"),
    [
        (f"00-{TRACE}-{SPAN}-01", SPAN),
        (f"00-{TRACE}-{SPAN}-00", SPAN),
        (f"01-{TRACE}-{SPAN}-01-later-versions", SPAN),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-01x", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
        ("\x1b[31m", None),
    ],
)
def test_the_trace_around_a_process_is_joined_if_it_is_one(text: str, parent: str | None) -> None:
    """As W3C Trace Context writes it."""
    context = trace_context(running(), {"TRACEPARENT": text})
    assert context.parent == parent
    assert (context.trace == TRACE) == (parent is not None)


@pytest.mark.parametrize(("flags", "sampled"), [("01", True), ("03", True), ("00", False), ("02", False)])
def test_a_trace_that_is_not_sampled_stays_so(flags: str, *, sampled: bool) -> None:
    """For the run's span, and for what its command starts."""
    context = trace_context(running(), {"TRACEPARENT": f"00-{TRACE}-{SPAN}-{flags}"})
    assert context.sampled is sampled
    assert str(context) == f"00-{TRACE}-{context.span}-{'01' if sampled else '00'}"
