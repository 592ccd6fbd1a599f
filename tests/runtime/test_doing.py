"""What a slot is doing, asked while a function of the program runs.

Exercises ``processes.doing``.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.runtime.spark.worker.doing import doing
from penstock.runtime.spark.worker.slot import Slot
from penstock.testing import TopologyTestDriver


class Waiting(ps.Processor[Any, Any, Any, Any]):
    """Stays inside one record until a test lets it go."""

    is_inside, may_go = threading.Event(), threading.Event()

    def process(self, record: ps.Record[Any, Any]) -> None:
        self.is_inside.set()
        assert self.may_go.wait(60)


@pytest.fixture
def topology() -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream("in").process(Waiting)
    return builder.build()


def test_the_record_and_the_line_are_told_while_a_function_runs(topology: ps.Topology) -> None:
    """And nothing is told before and afterwards."""
    with TopologyTestDriver(topology) as driver, ThreadPoolExecutor(1) as pool:
        task = cast("Any", driver._application).task
        tasks = {task.task_id: SimpleNamespace(kernel=task)}
        slot = cast("Slot", SimpleNamespace(tasks=tasks, step=""))
        assert doing(slot) == []
        done = pool.submit(driver.pipe_input, "in", "k", "v")
        assert Waiting.is_inside.wait(60)
        (found,) = doing(slot)
        Waiting.may_go.set()
        done.result(60)
        assert found.record == ("in", 0, 0)
        assert "test_doing.py:" in found.line
        assert found.line.endswith("in process")
        assert "topic 'in' partition 0 offset 0" in found.text
        assert doing(slot) == []


def test_a_slot_that_waits_for_kafka_says_so() -> None:
    """Kafka may take a minute to refuse a record."""
    slot = cast("Slot", SimpleNamespace(tasks={}, step="reads records from Kafka"))
    (found,) = doing(slot)
    assert found.text == "it reads records from Kafka"
