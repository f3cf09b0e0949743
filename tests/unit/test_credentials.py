"""The credentials that the lean transport knows, from a real endpoint on this machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.aws.answers import NoAnswerError
from cronce.aws.credentials import RELATIVE_URI, TaskCredentials, plain_source
from cronce.aws.http import deadline
from cronce.aws.sigv4 import Credentials
from tests.support.hostile_server import hostile
from tests.support.service import Reply, Request, serving


def keys(number: int, *, expires_in: timedelta) -> Reply:
    """What ECS answers (ECS Developer Guide, "Task IAM role")."""
    return Reply(
        body={
            "RoleArn": "arn:aws:iam::111122223333:role/task",
            "AccessKeyId": f"AKID{number}",
            "SecretAccessKey": "secret",
            "Token": "token",
            "Expiration": (datetime.now(UTC) + expires_in).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )


def test_keys_of_the_environment_are_taken_as_they_are() -> None:
    """They come first, as in every SDK."""
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}
    source = plain_source(environ | {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/1"})
    assert source is not None
    assert source(deadline(5)) == Credentials(access_key="AKID", secret_key="secret", token="token")


@pytest.mark.parametrize("environ", [{}, {"AWS_ACCESS_KEY_ID": "", "HOME": "/"}])
def test_every_other_source_is_left_to_the_sdk(environ: dict[str, str]) -> None:
    """Such as a profile."""
    assert plain_source(environ) is None


@pytest.mark.parametrize(
    "environ",
    [
        {"AWS_ACCESS_KEY_ID": "AKID"},
        {"AWS_SECRET_ACCESS_KEY": "secret"},
        {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "token"},
    ],
)
def test_half_a_pair_of_keys_does_not_let_the_task_role_sign(environ: dict[str, str]) -> None:
    """Somebody wanted other credentials than the task's: the SDK says what is missing, or takes what it always does."""
    assert plain_source({RELATIVE_URI: "/v2/credentials/1"}) is not None
    assert plain_source(environ | {RELATIVE_URI: "/v2/credentials/1"}) is None


def test_a_task_asks_the_path_that_ecs_gave_once() -> None:
    """Six hours at most, kept until ten minutes before their end."""
    with serving(lambda _: keys(1, expires_in=timedelta(hours=6))) as service:
        source = TaskCredentials("/v2/credentials/1?a=b", endpoint=f"127.0.0.1:{service.port}")
        assert [source.current(deadline(5)).access_key for _ in range(3)] == ["AKID1"] * 3
    assert [request.path for request in service.requests] == ["/v2/credentials/1?a=b"]


def test_keys_are_renewed_before_they_expire() -> None:
    """Nine minutes left are too few."""
    replies = iter([keys(1, expires_in=timedelta(minutes=9)), keys(2, expires_in=timedelta(hours=6))])
    with serving(lambda _: next(replies)) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        assert [source.current(deadline(5)).access_key for _ in range(3)] == ["AKID1", "AKID2", "AKID2"]


def test_an_endpoint_that_fails_is_no_error_while_keys_are_valid() -> None:
    """The 90 seconds of a restarting agent in the sixth hour."""

    def answer(_: Request) -> Reply:
        return keys(1, expires_in=timedelta(minutes=9)) if len(service.requests) == 1 else Reply(status=503, body=b"")

    with serving(answer) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        assert [source.current(deadline(5)).access_key for _ in range(3)] == ["AKID1"] * 3


def test_an_endpoint_that_fails_is_not_asked_by_each_call() -> None:
    """It would delay each by two seconds, for ten minutes."""

    def answer(_: Request) -> Reply:
        return keys(1, expires_in=timedelta(minutes=9)) if len(service.requests) == 1 else Reply(status=503, body=b"")

    with serving(answer) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        for _ in range(10):
            source.current(deadline(5))
    assert len(service.requests) == 2


def test_an_endpoint_that_trickles_is_not_waited_for_beyond_the_deadline() -> None:
    """A byte comes again and again, and no answer ends."""
    with hostile(lambda peer, _request: peer.trickle(b"HTTP/1.1 100 Continue\r\n\r\n")) as server:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{server.port}")
        with pytest.raises(NoAnswerError, match="credentials endpoint: timed out"):
            source.current(deadline(0.5))
        assert not server.over.is_set()


NOT_STRINGS = {"AccessKeyId": 7, "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(status=429, body=b"Rate exceeded"), "HTTP 429: Rate exceeded"),
        (Reply(status=503, body=b""), "HTTP 503: an empty body"),
        (Reply(status=400, body={"code": "InvalidIdInRequest"}), "HTTP 400: .*InvalidIdInRequest"),
        (Reply(status=500, body=b"\x1b[31m" + b"x" * 5000), r"HTTP 500: .\[31mx{100,120}\.\.\.$"),
        (Reply(body=b"<html>"), "HTTP 200 without usable credentials"),
        (Reply(body={"AccessKeyId": "AKID"}), "HTTP 200 without usable credentials"),
        (Reply(body=b"[" * 100_000), "HTTP 200 without usable credentials"),
        (Reply(body=NOT_STRINGS), "HTTP 200 with a key that is not printable ASCII"),
    ],
)
def test_the_error_has_the_endpoints_answer(reply: Reply, says: str) -> None:
    """Its status and its first words, in one printable line, and never a secret."""
    with serving(lambda _: reply) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        with pytest.raises(NoAnswerError, match=says) as raised:
            source.current(deadline(5))
    assert raised.value.transient
    assert raised.value.message.isprintable()


def test_a_time_without_a_zone_is_utc() -> None:
    """It is no reason to fail."""
    reply = keys(1, expires_in=timedelta(hours=6))
    assert isinstance(reply.body, dict)
    reply.body["Expiration"] = reply.body["Expiration"].removesuffix("Z")
    with serving(lambda _: reply) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        assert source.current(deadline(5)).access_key == "AKID1"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500, body=b"oops"),
        Reply(body={"code": "AccessDenied"}),
        Reply(body=[]),
        keys(1, expires_in=timedelta(minutes=-1)),
    ],
)
def test_no_valid_keys_are_a_transient_error(reply: Reply) -> None:
    """Expired ones are fetched again, and are never used to sign."""
    with serving(lambda _: reply) as service:
        source = TaskCredentials("/", endpoint=f"127.0.0.1:{service.port}")
        with pytest.raises(NoAnswerError, match="credentials endpoint") as raised:
            source.current(deadline(5))
    assert raised.value.transient
