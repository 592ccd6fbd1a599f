"""Journeys over HTTP. Exercises ``journey.models`` and ``live_journeys``."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from msgspec import Raw

from penstock.serving.application import NotAvailableError
from penstock.serving.journey import live_journeys
from penstock.serving.journey.values import (
    LiveTrace,
    Origin,
    RecordWatch,
    State,
    Step,
    TopicRecord,
    Trace,
    Traced,
)
from penstock.serving.server import ServingServer
from tests.unit.serving.journey.test_journey import CONFIG, application, topology
from tests.unit.serving.memory_journeys import MemoryJourneys
from tests.unit.serving.test_server import Client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with ServingServer(application()) as server:
        yield Client(server.port)


def test_the_topics_and_their_newest_records_are_listed(client: Client) -> None:
    """Decoded, with a filter by key."""
    assert client.get("/journeys")[1]["topics"] == ["in"]
    status, body, _ = client.get("/journeys/in?limit=2")
    assert (status, [each["offset"] for each in body["records"]]) == (200, [3, 2])
    assert (body["records"][0]["key"], body["is_whole"]) == ("a", False)
    assert client.get("/journeys/in?prefix=b")[1]["records"] == []
    assert client.get("/journeys/in?limit=0")[0] == 400
    status, body, _ = client.get("/journeys/elsewhere")
    assert (status, body["code"]) == (400, "not-a-source")


def test_a_journey_has_its_steps_and_what_they_did(client: Client) -> None:
    """Each with the line of the program, stores before and after, and what is not known."""
    status, body, _ = client.get("/journeys/in/0/2")
    assert (status, body["commit"]["number"], body["run_before"]) == (200, 10, 1)
    assert (body["record"]["key"], body["is_processed"], body["error"]) == ("a", True, None)
    first, second = body["steps"]
    assert (first["parent"], second["parent"], second["node"][:17]) == (
        None,
        0,
        "KSTREAM-AGGREGATE",
    )
    read, write = second["accesses"]
    assert (read["operation"], read["value"], read["is_write"]) == ("read", 2, False)
    assert (write["before"], write["value"], write["is_write"]) == (2, 3, True)
    assert any("other partitions" in note for note in body["notes"])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/journeys/in/0/99", 404, "no-such-record"),
        ("/journeys/in/x/1", 400, "bad-request"),
        ("/journeys/out/0/0", 400, "not-a-source"),
        ("/journeys/in/0/1?commit=1", 400, "bad-request"),
    ],
)
def test_a_record_that_cannot_be_followed_is_refused(
    client: Client, path: str, status: int, code: str
) -> None:
    """With a code."""
    found, body, _ = client.get(path)
    assert (found, body["code"]) == (status, code)


class Slow(MemoryJourneys):
    """A program whose functions take until a test lets them end."""

    def __init__(self) -> None:
        super().__init__(topology(), CONFIG)
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def run(self, before: Sequence[TopicRecord], record: TopicRecord, state: State) -> Trace:
        self.has_begun.set()
        assert self.may_end.wait(60)
        return super().run(before, record, state)


def test_one_journey_at_a_time() -> None:
    """Functions of the program must not take all threads of the server."""
    made, slow = application(), Slow()
    slow.add("in", b"a", b"1")
    made.tools = slow
    with ServingServer(made) as server:
        client = Client(server.port)
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(client.get("/journeys/in/0/0")[0]))
        thread.start()
        assert slow.has_begun.wait(60)
        status, body, _ = client.get("/journeys/in/0/0")
        slow.may_end.set()
        thread.join(60)
    assert (status, body["code"]) == (503, "journey-busy")
    assert found == [200]


def _live() -> tuple[MemoryJourneys, ServingServer]:
    made = application()
    assert isinstance(made.tools, MemoryJourneys)
    return made.tools, ServingServer(made)


def _events(port: int, path: str) -> Generator[tuple[str, dict[str, Any]]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"][:17]) == (200, "text/event-stream")
    kind = ""
    try:
        for line in answer:
            name, _, text = line.decode().strip().partition(": ")
            if name == "event":
                kind = text
            elif name == "data":
                yield kind, json.loads(text)
    finally:
        answer.close()
        connection.close()


def test_traces_of_the_next_records_come_as_events() -> None:
    """With the record that they begin with; what goes on behind a topic names the same one."""
    tools, server = _live()
    record = tools.logs["in", 0][0]
    step = Step(id=0, parent=None, node="KSTREAM-SOURCE-0000000000", key=Raw(b'"a"'),
                value=Raw(b"1"), timestamp=5)  # fmt: skip
    origin = Origin("in", 0, record.offset)
    first = LiveTrace(origin=origin, task="0_0", record=record, trace=Trace(steps=[step]))
    behind = replace(first, task="1_0", record=replace(record, topic="app-repartition"))
    with server, closing(_events(server.port, "/journeys/in/live?key=a&every=2")) as events:
        tools.live = Traced(traces=[first, behind], missed=3)
        kind, found = next(events)
        (watch,) = tools.watches.values()
    assert (kind, found["missed"]) == ("traces", 3)
    assert (watch.topic, watch.key, watch.every) == ("in", b"a", 2)
    one, two = found["traces"]
    assert one["origin"] == two["origin"] == {"topic": "in", "partition": 0, "offset": 0}
    assert (one["record"]["key"], two["record"], two["task"]) == ("a", None, "1_0")
    assert [(each["node"], each["value"]) for each in one["steps"]] == [(step.node, 1)]


def test_a_watch_that_fails_later_says_why() -> None:
    """The reader gets the code, as an event."""
    tools, server = _live()

    def moved(watch: RecordWatch) -> Traced:
        raise NotAvailableError("partition-moving", "this instance does not lead")

    with server, closing(_events(server.port, "/journeys/in/live")) as events:
        tools.live = Traced(missed=1)
        assert next(events)[0] == "traces"
        tools.traced = moved  # type: ignore[method-assign]
        kind, found = next(events)
    assert (kind, found["code"]) == ("failure", "partition-moving")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/journeys/out/live", 400, "not-a-source"),
        ("/journeys/in/live?every=0", 400, "bad-request"),
        ("/journeys/in/live?key=!&key_format=base64", 400, "bad-key"),
        ("/journeys/in/live?limit=1", 400, "bad-request"),
    ],
)
def test_a_watch_of_nothing_is_refused(client: Client, path: str, status: int, code: str) -> None:
    """Before the first event."""
    found, body, _ = client.get(path)
    assert (found, body["code"]) == (status, code)


def test_there_are_few_watches_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watched task is slower."""
    monkeypatch.setattr(live_journeys, "MOST_WATCHES", 0)
    _, server = _live()
    with server:
        status, body, _ = Client(server.port).get("/journeys/in/live")
    assert (status, body["code"]) == (503, "too-many-watches")
