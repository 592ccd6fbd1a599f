"""A Spark task brings its request to the slot's server: the known one, one found, or a new one."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.errors import StreamsError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.channel import ERROR, OK, accepted, listen, receive, send
from penstock.runtime.spark.exchange.stage_request import (
    Endpoint,
    Outcome,
    Report,
    StageRequest,
)
from penstock.runtime.spark.worker import slot_task as module
from penstock.runtime.spark.worker.processes import host_registry
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.process_tree import Process, began
from penstock.runtime.spark.worker.slot_task import SlotTask
from tests.runtime.slot_processes import happens

SECRET = b"s" * 32
REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
REPORT = Report(task=TaskId(0, 0), stage=0, slot=0)
GONE = Endpoint("gone", "127.0.0.1", 1, "1")


class Server:
    """A slot server that answers every request alike, beside a process that stands for it."""

    def __init__(self, name: str, secret: bytes = SECRET) -> None:
        #: None ends the connection instead.
        self.answer: tuple[str, Any] | None = OK, [REPORT]
        self.asked: list[tuple[Any, ...]] = []
        self._secret = secret
        self._socket = listen("127.0.0.1")
        self.endpoint = Endpoint(name, "127.0.0.1", self._socket.getsockname()[1], "1")
        self.child = subprocess.Popen(["sleep", "600"])
        self.process = Process(self.child.pid, began(self.child.pid))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._socket.accept()
            except OSError:
                return
            connection = accepted(opened, self._secret)
            if connection is not None:
                self._serve(connection)

    def _serve(self, connection: Connection) -> None:
        with connection:
            question = receive(connection)
            if self.answer is None:
                return
            is_ping = question[0] == "ping"
            if not is_ping:
                self.asked.append(question)
            send(connection, (OK, self.endpoint) if is_ping else self.answer)

    def is_killed(self, within_s: float = 60.0) -> bool:
        return happens(lambda: not self.process.is_alive, within_s)

    def close(self) -> None:
        self._socket.close()
        self.child.kill()
        self.child.wait()


class Host:
    """The registry of a host, and the servers that are started on it."""

    def __init__(self) -> None:
        self.registry = HostRegistry("app", "/state", 0)
        self.started: list[Server] = []
        self._made: list[Server] = []

    def server(self, name: str, secret: bytes = SECRET) -> Server:
        self._made.append(Server(name, secret))
        return self._made[-1]

    def start(self, secret: bytes, number: int) -> tuple[Process, Endpoint]:
        self.started.append(self.server("started", secret))
        return self.started[-1].process, self.started[-1].endpoint

    def enter(self, server: Server, generation: int) -> None:
        self.registry.write(Entry(server.process, server.endpoint, generation))

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


def run(known: Endpoint | None, generation: int = 2) -> Outcome:
    task = SlotTask(
        broadcast=SimpleNamespace(value=b"application"), key="app-2-x", application_id="app",
        state_dir="/state", generation=generation, secret=SECRET,
        endpoints={} if known is None else {0: known}, kind="run", request=REQUEST,
    )  # fmt: skip
    (outcome,) = task(iter([0]))
    return outcome


def test_the_server_that_the_driver_knows_is_asked(host: Host) -> None:
    """State, clients and processors are warm there, on whatever host it is."""
    server = host.server("known")
    outcome = run(server.endpoint)
    assert outcome == Outcome(slot=0, endpoint=server.endpoint, reports=(REPORT,))
    assert server.asked == [("run", "app-2-x", 0, REQUEST)]
    assert host.started == []


def test_a_lost_server_is_replaced_by_the_one_that_the_host_knows(host: Host) -> None:
    """Another attempt of the same job may have started it a moment ago."""
    server = host.server("found")
    host.enter(server, 2)
    assert run(GONE).endpoint == server.endpoint
    assert host.started == []


def test_without_a_server_one_is_started_and_entered(host: Host) -> None:
    """The next task finds it."""
    outcome = run(GONE)
    (started,) = host.started
    assert outcome.endpoint == started.endpoint
    assert host.registry.read() == Entry(started.process, started.endpoint, 2)
    assert run(None).endpoint == started.endpoint
    assert len(host.started) == 1


def test_the_lost_server_is_killed_before_another_opens_its_databases(host: Host) -> None:
    """It may only be paused, and would write again when it goes on."""
    paused = host.server("paused")
    paused.answer = None
    host.enter(paused, 2)
    outcome = run(paused.endpoint)
    assert paused.is_killed()
    assert outcome.endpoint == host.started[0].endpoint


def test_the_server_of_an_older_driver_gives_way(host: Host) -> None:
    """It does not know this driver's secret, so it does not answer."""
    older = host.server("older", b"other" * 8)
    host.enter(older, 1)
    assert run(None).endpoint == host.started[0].endpoint
    assert older.is_killed()


def test_the_server_of_a_newer_driver_is_left_alone(host: Host) -> None:
    """A driver that was paused must not end what another one has begun."""
    newer = host.server("newer", b"other" * 8)
    host.enter(newer, 3)
    outcome = run(None)
    assert isinstance(outcome.error, StreamsError)
    assert outcome.error.code == "fenced"
    assert not newer.is_killed(within_s=0.2)
    assert host.started == []


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (StreamsError("processing", "node 'map' failed"), "processing"),
        (KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)), "broker-away"),
    ],
)
def test_an_error_of_the_slot_is_handed_back_not_raised(
    host: Host, raised: Exception, code: str
) -> None:
    """Spark would try again blindly, and end the worker."""
    server = host.server("failing")
    server.answer = ERROR, raised
    error = run(server.endpoint).error
    assert isinstance(error, StreamsError)
    assert error.code == code


def test_a_server_that_cannot_be_started_is_an_error_of_the_slot(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver waits and tries again, or asks the user."""

    def fail(secret: bytes, number: int) -> None:
        raise OSError("no more processes")

    failing: Callable[..., None] = fail
    monkeypatch.setattr(module, "start_server", failing)
    outcome = run(None)
    assert isinstance(outcome.error, OSError)
    assert outcome.endpoint is None
