"""Change feeds over real connections: server-sent events and websockets.

Exercises ``feed_routes``.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")
pytest.importorskip("websockets", reason="a development dependency")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from penstock.serving import http_server
from penstock.serving.application import NotAvailableError
from penstock.serving.credentials import Credentials
from penstock.serving.feeds import MOST_WAITING
from penstock.serving.options import Limits, ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import (
    MemoryApplication,
    one_instance,
    store_info,
    until,
)


@pytest.fixture
def served() -> Iterator[tuple[MemoryApplication, ServingServer]]:
    made = one_instance(store_info("counts"))
    with ServingServer(made, ServerOptions(limits=Limits(max_feeds=2))) as server:
        yield made, server


class Events:
    """A reader of server-sent events."""

    def __init__(self, port: int, path: str = "/feeds/counts", **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self._connection.request("GET", path, headers=named)
        self.response = self._connection.getresponse()

    def next(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while line := self.response.readline().decode().rstrip("\n"):
            name, _, text = line.partition(": ")
            found[name] = text
        return found

    def close(self) -> None:
        self.response.close()
        self._connection.close()


def test_changes_arrive_as_events_and_can_be_continued(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    made, server = served
    events = Events(server.port)
    assert events.response.getheader("content-type", "").startswith("text/event-stream")
    assert events.next() == {"id": "0:0", "event": "start", "data": "{}"}
    made.change("counts", ("ann", 1), ("bob", None))
    first, second = events.next(), events.next()
    assert json.loads(first["data"]) == {
        "partition": 0, "offset": 0, "key": "ann", "value": 1, "timestamp": 1000,
    }  # fmt: skip
    assert json.loads(second["data"])["value"] is None
    assert second["id"] == "0:2"
    events.close()
    until(lambda: not made.listeners)
    made.change("counts", ("carl", 3))
    again = Events(server.port, Last_Event_ID=second["id"])
    assert again.next()["event"] == "start"
    assert json.loads(again.next()["data"])["offset"] == 2
    again.close()


def test_readers_that_leave_free_their_place(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    made, server = served
    for _ in range(3):
        readers = [_opened(server.port), _opened(server.port)]
        for reader in readers:
            assert reader.next()["event"] == "start"
        refused = Events(server.port)
        assert refused.response.status == 503
        assert json.loads(refused.response.read())["code"] == "too-many-feeds"
        for reader in (*readers, refused):
            reader.close()
        until(lambda: not made.listeners)


def _opened(port: int) -> Events:
    """Open a feed; the place of one that has just left is free a moment later."""
    deadline = time.monotonic() + 60
    while (events := Events(port)).response.status == 503:
        events.close()
        assert time.monotonic() < deadline
    return events


def test_a_feed_that_cannot_be_opened_is_an_error(
    served: tuple[MemoryApplication, ServingServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, server = served

    def refuse(*arguments: Any) -> Any:
        raise NotAvailableError("store-not-ready", "the brokers are away")

    monkeypatch.setattr(made, "subscribe", refuse)
    events = Events(server.port)
    assert events.response.status == 503
    assert json.loads(events.response.read())["code"] == "store-not-ready"
    events.close()
    assert _refused(server.port, "/feeds/counts") == 403
    monkeypatch.undo()
    again = Events(server.port)
    assert again.next()["event"] == "start"
    again.close()


def test_a_feed_that_fails_ends_and_says_why(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    """Heartbeats alone would look like a store that does not change."""
    made, server = served
    events = Events(server.port)
    assert events.next()["event"] == "start"
    with connect(f"ws://127.0.0.1:{server.port}/feeds/counts") as connection:
        assert json.loads(connection.recv(60)) == {"since": "0:0"}
        made.feed_failure = "the right to read is gone"
        made.change("counts")
        assert events.next() == {
            "id": "0:0", "event": "failure", "data": '{"message":"the right to read is gone"}',
        }  # fmt: skip
        assert events.response.read() == b""
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    events.close()


def test_a_websocket_has_the_same_changes(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    made, server = served
    with connect(f"ws://127.0.0.1:{server.port}/feeds/counts") as connection:
        assert json.loads(connection.recv(60)) == {"since": "0:0"}
        made.change("counts", ("ann", {"n": 1}))
        assert json.loads(connection.recv(60))["value"] == {"n": 1}
        connection.send("what a client sends is not looked at")
        made.change("counts", ("bob", 2))
        assert json.loads(connection.recv(60))["key"] == "bob"
    until(lambda: not made.listeners)


def test_a_reader_that_falls_behind_is_cut_off_and_told(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    made, server = served
    events = Events(server.port)
    assert events.next()["event"] == "start"
    made.change("counts", *((f"k{n}", n) for n in range(MOST_WAITING + 1)))
    last: dict[str, str] = {}
    while found := events.next():
        last = found
    assert (last["event"], last["id"]) == ("overflow", "0:0")
    events.close()
    until(lambda: not made.listeners)
    with connect(f"ws://127.0.0.1:{server.port}/feeds/counts") as connection:
        connection.recv(60)
        made.change("counts", *((f"k{n}", n) for n in range(MOST_WAITING + 1)))
        with pytest.raises(ConnectionClosed) as caught:
            connection.recv(60)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1013


def test_a_server_that_stops_ends_its_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for them until it loses patience."""
    monkeypatch.setattr(http_server, "_STOP_S", 60.0)
    made = one_instance(store_info("counts"))
    server = ServingServer(made).start()
    events = Events(server.port)
    assert events.next()["event"] == "start"
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 30
    assert events.next() == {}
    until(lambda: not made.listeners)
    events.close()


def _refused(port: int, path: str, **more: Any) -> int:
    with pytest.raises(InvalidStatus) as caught:
        connect(f"ws://127.0.0.1:{port}{path}", **more)
    return int(caught.value.response.status_code)


def test_websockets_are_guarded_like_requests(
    served: tuple[MemoryApplication, ServingServer],
) -> None:
    made, server = served
    assert _refused(server.port, "/feeds/nothing") == 403
    assert _refused(server.port, "/feeds/counts?since=x") == 403
    assert _refused(server.port, "/feeds/counts", origin="http://evil.example") == 403
    options = ServerOptions(credentials=Credentials.of(read_tokens=("secret",)))
    with ServingServer(made, options) as guarded:
        assert _refused(guarded.port, "/feeds/counts") == 403
        with connect(
            f"ws://127.0.0.1:{guarded.port}/feeds/counts",
            additional_headers={"Authorization": "Bearer secret"},
        ) as connection:
            assert json.loads(connection.recv(60)) == {"since": "0:0"}
