"""A server of a pool takes a slot over from whatever process of its host had it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes import claim as module
from penstock.runtime.spark.worker.processes import host_registry
from penstock.runtime.spark.worker.processes.claim import claim
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.process_tree import Process, began, this_process
from tests.runtime.slot_processes import happens

SECRET = b"s" * 32
OWN = Endpoint("own", "127.0.0.1", 1, "1")
OTHER = Endpoint("other", "127.0.0.1", 2, "1")
APPLICATION = cast("Any", SimpleNamespace(id="app", state_dir="/state", generation=2))


class Servers:
    """The other servers of the host: whether they give way, and what they were asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.gives_way = False

    def ask(self, endpoint: Endpoint, secret: bytes, question: tuple[Any, ...], **_: Any) -> None:
        self.asked.append(question)
        if not self.gives_way:
            raise StreamsError("worker-lost", "it does not know the secret")


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    monkeypatch.setattr(host_registry.tempfile, "gettempdir", lambda: str(tmp_path))
    made = Servers()
    monkeypatch.setattr(module, "ask", made.ask)
    return made


@pytest.fixture
def other() -> Iterator[Process]:
    """A process that has the slot."""
    child = subprocess.Popen(["sleep", "600"])
    yield Process(child.pid, began(child.pid))
    child.kill()
    child.wait()


def registry() -> HostRegistry:
    return HostRegistry("app", "/state", 0)


def test_a_slot_that_nobody_has_is_entered(servers: Servers) -> None:
    """The next server, of whatever driver, finds who has it."""
    claim(APPLICATION, 0, OWN, SECRET)
    assert registry().read() == Entry(this_process(), OWN, 2)
    claim(APPLICATION, 0, OWN, SECRET)
    assert servers.asked == []


def test_a_server_of_the_same_driver_closes_only_the_slot(servers: Servers, other: Process) -> None:
    """It has slots of other applications, which go on."""
    servers.gives_way = True
    registry().write(Entry(other, OTHER, 2))
    claim(APPLICATION, 0, OWN, SECRET)
    assert servers.asked == [("evict", "app", 0)]
    assert other.is_alive
    assert registry().read() == Entry(this_process(), OWN, 2)


def test_a_server_of_an_older_driver_is_ended(servers: Servers, other: Process) -> None:
    """It has the databases open, and does not know this driver's secret."""
    registry().write(Entry(other, OTHER, 1))
    claim(APPLICATION, 0, OWN, SECRET)
    assert happens(lambda: not other.is_alive, within_s=60)


def test_a_slot_of_a_newer_driver_is_left_alone(servers: Servers, other: Process) -> None:
    """A driver that was paused must not end what another one has begun."""
    registry().write(Entry(other, OTHER, 3))
    with pytest.raises(StreamsError) as raised:
        claim(APPLICATION, 0, OWN, SECRET)
    assert raised.value.code == "fenced"
    assert other.is_alive
    assert registry().read() == Entry(other, OTHER, 3)
