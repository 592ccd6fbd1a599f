"""Processes die while a table is written, and every change is a row of it, once.

Exercises ``lake.lake_sinks`` and ``driver.row_ranges``.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.integration.spark.instances import Instance, wait_for

deltalake = pytest.importorskip("deltalake")
pytestmark = [pytest.mark.spark, pytest.mark.kafka]

WORDS = 5
RECORDS = 40


def driver(instance: Instance) -> int:
    return instance.process.pid


def thread(instance: Instance) -> int:
    wait_for(instance.threads, 60, "a stream thread")
    return random.choice([*instance.threads().values()])


def jvm(instance: Instance) -> int:
    return instance.jvm


VICTIMS = (thread, driver, jvm)


def version(folder: Path) -> int:
    """Return how many commits the table has; -1 before it is made."""
    return len([*folder.glob("_delta_log/*.json")]) - 1


def changes(folder: Path) -> dict[str, list[int]]:
    """Return the values of each key, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in pa.table(deltalake.DeltaTable(folder).to_pyarrow_table()).to_pylist():
        found[row["key"]].append(row["value"])
    return {key: sorted(values) for key, values in found.items()}


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_every_change_is_a_row_once_whatever_dies(
    start: Callable[..., Instance],
    topics: tuple[str, str],
    produce: Callable[..., None],
    tmp_path: Path,
    kills: int,
) -> None:
    """A thread, the driver or its JVM is killed at some moment while rows are on their way."""
    folder, sent = tmp_path / "lake", Counter[str]()
    config = {"app_table": f"delta:{folder}", "penstock_lake_commit_interval_ms": 0}
    instance = start(**config)

    def send() -> None:
        words = [f"w{random.randrange(WORDS)}" for _ in range(RECORDS)]
        sent.update(words)
        produce(topics[0], *[(f"k{n}", word) for n, word in enumerate(words)])

    def is_complete() -> bool:
        assert instance.process.poll() is None, instance.tail
        found = {key: len(values) for key, values in changes(folder).items()}
        return found == dict(sent)

    for number in range(kills):
        instance.wait_until_running()
        before = version(folder)
        send()
        wait_for(lambda: version(folder) > before, 120, "a version of the table")  # noqa: B023
        send()
        time.sleep(random.random())
        victim = VICTIMS[number % len(VICTIMS)]
        instance.send(signal.SIGKILL, victim(instance))
        if victim is not thread:
            instance.sweep()
            instance.start()
    wait_for(is_complete, 240, f"all rows\n{instance.tail}")
    assert changes(folder) == {word: [*range(1, count + 1)] for word, count in sent.items()}
    assert any("penstock.batch" in entry for entry in history(folder))


def history(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = deltalake.DeltaTable(folder).history()
    return found
