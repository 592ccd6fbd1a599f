"""Refusals reach clients that are still sending. Exercises ``security.guard``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs penstock[server]")

from penstock.server.errors import TooLargeError
from penstock.server.rest.replies import error_reply
from penstock.server.security.guard import BodyLimit, SqlGuard
from penstock.serving.credentials import Credentials
from penstock.serving.options import Limits, ServerOptions

PART = b"x" * 600


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """Read the whole body, and answer as routes do."""
    try:
        while (await receive()).get("more_body"):
            pass
    except TooLargeError as error:
        await error_reply(error)(scope, receive, send)


def asked(app: Any, parts: int, *, path: str = "/ksql", says_length: bool) -> list[Any]:
    """Return what happened in order: parts that were taken, and messages that were sent."""
    happened: list[Any] = []
    left = parts

    async def receive() -> Any:
        nonlocal left
        left -= 1
        happened.append("part")
        return {"type": "http.request", "body": PART, "more_body": left > 0}

    async def send(message: Any) -> None:
        happened.append(message.get("status", message["type"]))

    headers = [(b"host", b"localhost")]
    if says_length:
        headers.append((b"content-length", b"%d" % (parts * len(PART))))
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": headers,
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 30))
    return happened


def guard(**more: Any) -> SqlGuard:
    options = ServerOptions(limits=Limits(request_bytes=1_000), **more)
    return SqlGuard(BodyLimit(reading, 1_000), options)


@pytest.mark.parametrize("says_length", [True, False])
def test_a_stream_of_rows_may_be_long(says_length: bool) -> None:
    """Each row has a limit, and all of them together have none, known in advance or not."""
    happened = asked(guard(), 3, path="/inserts-stream", says_length=says_length)
    assert happened == ["part"] * 3


@pytest.mark.parametrize("says_length", [True, False])
def test_large_body_is_read_before_it_is_refused(says_length: bool) -> None:
    """An answer in the middle of a body would be lost with the connection."""
    happened = asked(guard(), 5, says_length=says_length)
    assert happened == ["part"] * 5 + [413, "http.response.body"]


def test_body_without_credentials_is_read_before_it_is_refused() -> None:
    """The client must learn that its token is missing."""
    secured = guard(credentials=Credentials.of(full_tokens=("t",)))
    assert asked(secured, 1, says_length=False)[-2:] == [401, "http.response.body"]


def test_stream_of_inserts_is_refused_at_once() -> None:
    """Its body has no end, so nobody can wait for that."""
    secured = guard(credentials=Credentials.of(full_tokens=("t",)))
    happened = asked(secured, 3, path="/inserts-stream", says_length=False)
    assert happened == [401, "http.response.body"]


def test_endless_body_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some bytes the refusal is sent, whether or not it arrives."""
    monkeypatch.setattr("penstock.server.security.guard._DRAINED_BYTES", 5_000)
    happened = asked(guard(), 1_000_000, says_length=True)
    assert 413 in happened
    assert happened.count("part") < 20
