"""The life of a run: a start that is tried again, and one instance that ends all of them."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.driver.application_run import ApplicationRun
from penstock.runtime.spark.driver.changes.renumbering import topology_fingerprint
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.topics import resolve_patterns
from penstock.runtime.spark.exchange.batch_log import BatchLog, BatchPlan, LogState
from penstock.runtime.spark.exchange.plan import make_plan


class SharedLog:
    """A batch log that instances write to and follow, in memory."""

    def __init__(self) -> None:
        self.state = LogState()

    def register(self, instance: str) -> None:
        self.state.instances[instance] = cast("Any", None)

    def note_shut_down(self, time_ms: int) -> None:
        self.state.apply("shut-down", str(time_ms).encode())


def standing_by(log: SharedLog, name: str, folder: Path) -> ApplicationRun:
    """An instance whose leader is alive, so that its turn never comes."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    settings = {
        "application.id": "app",
        "bootstrap.servers": "127.0.0.1:1",
        "state.dir": str(folder / name),
    }
    run = ApplicationRun(builder.build().graph, StreamsConfig(settings), 1, b"secret")
    leads = threading.Event()
    run.member = cast(
        "Any",
        SimpleNamespace(
            leads=leads, has_joined=leads, raise_failure=lambda: None, stand_down=lambda: None
        ),
    )
    follows = SimpleNamespace(
        id=name, log=log.state, life_of_leader=lambda: Life.LEADS, is_next=lambda: False,
        instances={},
    )  # fmt: skip
    run.instance = cast("Any", follows)
    log.register(name)
    run._log = cast("BatchLog", log)
    return run


def test_a_start_without_a_broker_can_be_tried_again(tmp_path: Path) -> None:
    """The second attempt waits for the broker, too, and not for the state that the first has."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    settings = {
        "application.id": "app",
        "bootstrap.servers": "127.0.0.1:1",
        "state.dir": str(tmp_path),
        "default.api.timeout.ms": 200,
    }
    run = ApplicationRun(builder.build().graph, StreamsConfig(settings), 1, b"secret")
    try:
        for _ in range(2):
            with pytest.raises(PenstockError) as told:
                run.prepare()
            assert told.value.code == "broker-unreachable"
    finally:
        run.stop(is_clean=False, patience_s=0)


def test_ending_the_application_ends_instances_that_stand_by(tmp_path: Path) -> None:
    """They need not wait for their turn, and one that is started later is not concerned."""
    log = SharedLog()
    first, second = (standing_by(log, name, tmp_path) for name in "ab")
    ended: list[StreamsError] = []

    def wait() -> None:
        with pytest.raises(StreamsError, match="application-shut-down") as told:
            second.wait_to_lead(threading.Event())
        ended.append(told.value)

    waiting = threading.Thread(target=wait)
    waiting.start()
    first.shut_down_application()
    waiting.join(10)
    assert [error.code for error in ended] == ["application-shut-down"]
    later = standing_by(log, "c", tmp_path)
    later._check_shut_down(log.state)


def test_a_topic_of_a_pattern_may_come_while_a_batch_is_under_way(tmp_path: Path) -> None:
    """The program is the same: the batch that the last run has left is finished, and read on."""
    builder = ps.StreamsBuilder()
    builder.stream(re.compile("notes-.")).to("out")
    settings = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1"}
    graph, config = builder.build().graph, StreamsConfig(settings | {"state.dir": str(tmp_path)})
    noted: list[str] = []

    def settle(state: LogState, **sizes: int) -> None:
        existing = {f"notes-{name}": cast("Any", None) for name in sizes}
        resolved = resolve_patterns(graph, existing)
        plan = make_plan(resolved, {f"notes-{name}": size for name, size in sizes.items()})
        run = ApplicationRun(graph, config, 1, b"secret")
        log = SimpleNamespace(set_topology=lambda fingerprint, *_: noted.append(fingerprint))
        run._log = cast("BatchLog", log)
        run._settle(state, plan)

    settle(LogState(), a=1)
    left = LogState(fingerprint=noted[0], plan=BatchPlan(5, {}, {("notes-a", 0): 3}, 0, {}))
    settle(left, a=1, b=4)
    assert left.has_unfinished
    resolved = resolve_patterns(graph, {"notes-a": cast("Any", None)})
    left.fingerprint = topology_fingerprint(resolved)
    settle(left, a=1)
    assert set(noted) == {noted[0]}
