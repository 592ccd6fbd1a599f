"""An ``instance`` among others: who is next when the leader's process has ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.config import StreamsConfig
from penstock.runtime.spark.driver.instances import instance as module
from penstock.runtime.spark.driver.instances.beacon import Beacon, Life
from penstock.runtime.spark.driver.instances.instance import Instance, instance_host
from penstock.runtime.spark.exchange.batch_log import Cut, InstanceRecord, LogState
from tests.runtime.slot_processes import happens

CONFIG = StreamsConfig({"application.id": "app", "bootstrap.servers": "127.0.0.1:1"})


class Log:
    """A batch log in memory: what instances write to it, every one of them reads."""

    def __init__(self) -> None:
        self.state = LogState()
        self.readers: list[Callable[[], None]] = []

    def write(self, key: str, value: bytes | None) -> None:
        self.state.apply(key, value)
        for changed in list(self.readers):
            changed()


class Follower:
    def __init__(self, log: Log, changed: Callable[[], None]) -> None:
        self._log = log
        self.is_current = threading.Event()
        self.is_current.set()
        log.readers.append(changed)

    @property
    def state(self) -> LogState:
        return self._log.state

    def close(self) -> None: ...


class Notes:
    def __init__(self, log: Log) -> None:
        self._log = log

    def put(self, key: str, value: bytes | None) -> None:
        self._log.write(key, value)

    def flush(self, timeout_s: float) -> None: ...


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    made = Log()
    monkeypatch.setattr(
        module, "LogFollower", lambda topic, settings, changed, wait_ms: Follower(made, changed)
    )
    monkeypatch.setattr(module, "LogNotes", lambda topic, settings: Notes(made))
    monkeypatch.setattr(module, "_TURN_S", 0.3)
    return made


def new(leads: bool = False, **given: Any) -> Instance:
    return Instance(CONFIG, "127.0.0.1", leads=lambda: leads, changed=lambda: None, **given)


def led_by(log: Log, instance: str, generation: int = 1) -> None:
    told = f'{{"generation": {generation}, "run": "r", "slots": 1, "instance": "{instance}"}}'
    log.write("generation", told.encode())


def test_an_instance_registers_and_leaves(log: Log) -> None:
    """The others see where it can be reached."""
    instance = new()
    assert log.state.instances[instance.id] == instance.record
    assert instance.record.host == "127.0.0.1"
    instance.close()
    assert log.state.instances == {}


def test_nobody_has_led_yet(log: Log) -> None:
    """Then only the group decides."""
    instance = new()
    assert instance.life_of_leader() is None
    assert not instance.is_next()
    instance.close()


def test_a_leader_that_lives_is_left_alone(log: Log) -> None:
    """The follower watches it."""
    leader, follower = new(leads=True), new()
    led_by(log, leader.id)
    assert happens(lambda: follower.life_of_leader() is Life.LEADS, within_s=60)
    assert not follower.is_next()
    assert leader.life_of_leader() is None
    for each in (leader, follower):
        each.close()


def test_the_oldest_instance_takes_over(log: Log) -> None:
    """The others give it time, and then take their turn, one after the other."""
    first = new()
    time.sleep(0.01)
    second = new()
    gone = Beacon("127.0.0.1", "gone", lambda: True)
    record = InstanceRecord(
        id="gone", pid=1, host=gone.host, port=gone.port, server="", started_ms=0
    )
    log.write("instance/gone", record.to_json())
    led_by(log, "gone")
    assert happens(lambda: first.life_of_leader() is Life.LEADS, within_s=60)
    gone.close()
    assert happens(first.is_next, within_s=60)
    assert happens(lambda: second.life_of_leader() is Life.GONE, within_s=60)
    assert not second.is_next()
    assert happens(second.is_next, within_s=60)
    for each in (first, second):
        each.close()


def test_a_leader_that_has_left_is_gone(log: Log) -> None:
    """It removes its own record when it ends properly."""
    leader, follower = new(leads=True), new()
    led_by(log, leader.id)
    leader.close()
    assert happens(follower.is_next, within_s=60)
    follower.close()


def test_an_instance_for_queries_never_takes_over(log: Log) -> None:
    """It has no Spark."""
    reader = new(may_lead=False)
    led_by(log, "somebody")
    assert reader.life_of_leader() is Life.GONE
    assert not reader.is_next()
    assert reader.record.has_copies
    reader.close()


def test_the_leader_removes_records_of_the_dead(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed could not do it itself."""
    monkeypatch.setattr(module, "_SWEEP_S", 0.05)
    dead = Beacon("127.0.0.1", "dead", lambda: False)
    record = InstanceRecord(
        id="dead", pid=1, host=dead.host, port=dead.port, server="", started_ms=0
    )
    log.write("instance/dead", record.to_json())
    dead.close()
    leader = new(leads=True)
    assert happens(lambda: set(log.state.instances) == {leader.id}, within_s=60)
    leader.close()


def test_a_cut_of_an_older_generation_is_not_taken(log: Log) -> None:
    """A driver that was paused may write one after its successor has begun."""
    newer, older = Cut(2, 5, {("c", 0): 9}), Cut(1, 7, {("c", 0): 4})
    log.write("cut", newer.to_json())
    log.write("cut", older.to_json())
    assert log.state.cut == newer


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({}, "127.0.0.1"),
        ({"spark.master": "local[4]"}, "127.0.0.1"),
        ({"spark.driver.host": "driver.example"}, "driver.example"),
    ],
)
def test_an_instance_is_found_where_the_driver_is(settings: dict[str, str], host: str) -> None:
    """On one machine nobody else has to reach it."""
    assert instance_host(settings) == host
