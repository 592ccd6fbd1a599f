"""A batch log in memory, for several instances in one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.config import StreamsConfig
from penstock.runtime.spark.driver.instances import instance as module
from penstock.runtime.spark.driver.instances import succession
from penstock.runtime.spark.driver.instances.beacon import Beacon, this_machine
from penstock.runtime.spark.driver.instances.instance import Instance
from penstock.runtime.spark.exchange.batch_log import InstanceRecord, LogState

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


def shared_log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """Return the log that all instances use which are made from now on."""
    made = Log()
    monkeypatch.setattr(
        module, "LogFollower", lambda topic, settings, changed, wait_ms: Follower(made, changed)
    )
    monkeypatch.setattr(module, "LogNotes", lambda topic, settings: Notes(made))
    monkeypatch.setattr(module, "read_log", lambda topic, settings, is_whole: made.state)
    monkeypatch.setattr(succession, "_TURN_S", 0.3)
    monkeypatch.setattr(succession, "_IDLE_S", 0.3)
    return made


def new(
    leads: Callable[[], bool] = lambda: False, config: StreamsConfig = CONFIG, **given: Any
) -> Instance:
    return Instance(config, "127.0.0.1", leads=leads, changed=lambda: None, **given)


def record_of(name: str, beacon: Beacon, **given: Any) -> InstanceRecord:
    """Describe an instance of this machine, unless the test says otherwise."""
    about = {"machine": this_machine(), "server": "", "started_ms": 0, "pid": 1, **given}
    return InstanceRecord(id=name, host=beacon.host, port=beacon.port, **about)


def led_by(log: Log, instance: str, generation: int = 1) -> None:
    told = f'{{"generation": {generation}, "run": "r", "slots": 1, "instance": "{instance}"}}'
    log.write("generation", told.encode())
