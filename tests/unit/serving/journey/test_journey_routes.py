"""Journeys over HTTP. Exercises ``journey.models``."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.journey.values import State, TopicRecord, Trace
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
