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

import pytest

from tests.integration.spark.instances import Instance, wait_for
from tests.integration.spark.lake_tables import Tables, tables_of

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


def changes(tables: Tables) -> dict[str, list[int]]:
    """Return the values of each key, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in tables.rows():
        found[row["key"]].append(row["value"])
    return {key: sorted(values) for key, values in found.items()}


@pytest.mark.parametrize(
    ("kind", "mode", "kills"),
    [
        ("delta", "changes", 3),
        # About two minutes each.
        pytest.param("delta", "present", 3, marks=pytest.mark.slow),
        pytest.param("iceberg", "changes", 3, marks=pytest.mark.slow),
        pytest.param("iceberg", "present", 3, marks=pytest.mark.slow),
        # About half an hour each.
        pytest.param("delta", "changes", 50, marks=pytest.mark.slow),
        pytest.param("iceberg", "changes", 50, marks=pytest.mark.slow),
    ],
)
def test_every_change_is_a_row_once_whatever_dies(
    start: Callable[..., Instance],
    topics: tuple[str, str],
    produce: Callable[..., None],
    tmp_path: Path,
    kind: str,
    mode: str,
    kills: int,
) -> None:
    """A thread, the driver or its JVM is killed at some moment while rows are on their way."""
    lake, sent = tables_of(kind, tmp_path / "lake"), Counter[str]()
    config = {"app_table": lake.name(), "app_mode": mode, "penstock_lake_commit_interval_ms": 0}
    instance = start(**config, **lake.settings)

    def send() -> None:
        words = [f"w{random.randrange(WORDS)}" for _ in range(RECORDS)]
        sent.update(words)
        produce(topics[0], *[(f"k{n}", word) for n, word in enumerate(words)])

    def is_complete() -> bool:
        assert instance.process.poll() is None, instance.tail
        last = {key: max(values) for key, values in changes(lake).items()}
        return last == dict(sent)

    for number in range(kills):
        instance.wait_until_running()
        before = lake.count()
        send()
        wait_for(lambda: lake.count() > before, 120, "a version of the table")  # noqa: B023
        send()
        time.sleep(random.random())
        victim = VICTIMS[number % len(VICTIMS)]
        instance.send(signal.SIGKILL, victim(instance))
        if victim is not thread:
            instance.sweep()
            instance.start()
    wait_for(is_complete, 240, f"all rows\n{instance.tail}")
    first = {word: 1 if mode == "changes" else count for word, count in sent.items()}
    assert changes(lake) == {word: [*range(first[word], sent[word] + 1)] for word in sent}
    assert any(batch for _, batch in lake.versions())
