"""A Spark task of a beat finds the server of its place, or starts it, and never raises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import OK
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, PlaceOutcome, Stand, Ticket
from penstock.runtime.spark.worker import pool_task as module
from penstock.runtime.spark.worker.pool_task import PoolTask
from penstock.runtime.spark.worker.processes import host_registry
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.process_tree import Process
from tests.runtime.test_slot_task import GONE, SECRET, Server

REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
TICKET = Ticket(id="t", kind="run", key="app-1-x", number=0, place=0, request=REQUEST)
ANSWERS = (("t", Answer(Stand.DONE, None)),)


class Host:
    """The servers that are started on a host, each of which answers every beat."""

    def __init__(self) -> None:
        self.started: list[Server] = []
        self._made: list[Server] = []

    def server(self, name: str) -> Server:
        made = Server(name)
        made.answer = OK, list(ANSWERS)
        self._made.append(made)
        return made

    def start(self, secret: bytes, number: int) -> tuple[Process, Endpoint]:
        self.started.append(self.server("started"))
        return self.started[-1].process, self.started[-1].endpoint

    def close(self) -> None:
        for server in self._made:
            server.close()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(host_registry.tempfile, "gettempdir", lambda: str(tmp_path))
    made = Host()
    monkeypatch.setattr(module, "start_server", made.start)
    yield made
    made.close()


def run(known: Endpoint | None, *places: int) -> list[PlaceOutcome]:
    servers = {} if known is None else {0: known}
    task = PoolTask(
        pool="pool", secret=SECRET, servers=servers, tickets={0: (TICKET,)}, patience_s=0.5
    )
    return task(iter(places or (0,)))


def test_the_server_that_the_driver_knows_gets_all_tickets_at_once(host: Host) -> None:
    """One connection for a beat, however many applications are in it."""
    server = host.server("known")
    assert run(server.endpoint) == [
        PlaceOutcome(place=0, endpoint=server.endpoint, answers=ANSWERS)
    ]
    assert server.asked == [("beat", (TICKET,), 0.5)]
    assert host.started == []


def test_a_place_without_tickets_starts_nothing(host: Host) -> None:
    """A pool has as many servers as it needs."""
    assert run(None, 1) == [PlaceOutcome(place=1)]
    assert host.started == []


def test_the_first_ticket_of_a_place_starts_its_server(host: Host) -> None:
    """The next task finds it, also one that runs at the same time."""
    (first,) = run(None)
    (started,) = host.started
    assert first.endpoint == started.endpoint
    assert run(GONE)[0].endpoint == started.endpoint
    assert len(host.started) == 1


def test_a_server_that_is_paused_is_ended_before_another_takes_its_place(host: Host) -> None:
    """It has the databases of all its slots open."""
    paused = host.server("paused")
    paused.answer = None
    HostRegistry.of_place("pool", 0).write(Entry(paused.process, paused.endpoint, 0))
    (outcome,) = run(paused.endpoint)
    assert paused.is_killed()
    assert outcome.endpoint == host.started[0].endpoint


def test_a_server_that_cannot_be_started_is_an_error_of_its_place(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would run the whole job again, with the tickets of all applications."""

    def fail(secret: bytes, number: int) -> Any:
        raise StreamsError("worker-lost", "no more processes")

    monkeypatch.setattr(module, "start_server", fail)
    (outcome,) = run(None)
    assert isinstance(outcome.error, StreamsError)
    assert (outcome.error.code, outcome.endpoint) == ("worker-lost", None)
