"""Exercises ``penstock.runtime.spark.worker.task_databases`` on real databases."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.errors import StoreError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.worker.task_databases import TaskDatabases
from penstock.state.engine.pending import PendingStore
from penstock.state.engine.rocks import open_rocks
from tests.runtime.test_standby import World, counting

TASK = TaskId(1, 0)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], TaskDatabases]]:
    """Opens the databases of one task, as a run in this process does."""
    world = World(counting())
    plan, settings = world.application.application.plan, world.application.slot_of(0).settings
    yield lambda: TaskDatabases(TASK, plan, settings, tmp_path, open_rocks)
    world.application.close()


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow past 4 kB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def written(databases: TaskDatabases) -> PendingStore:
    engine = databases.engine("counts")
    for number in range(1_000):
        engine.put(b"k%d" % number, b"v" * 100)
    databases.apply(1)
    return engine


@pytest.mark.parametrize("end", ["closed", "mended"])
def test_databases_that_a_full_disk_cannot_save_are_free_for_the_next_run(
    opened: Callable[[], TaskDatabases], end: str
) -> None:
    """Somebody, such as a query, may still hold the store."""
    databases = opened()
    held = written(databases)
    with full_disk():
        with pytest.raises(StoreError) as failed:
            held.persist()
        if end == "mended":
            databases.mend(failed.value)
        databases.close()
    again = opened()
    engine = again.engine("counts")
    assert engine is not held
    assert engine.get(b"k999") == b"v" * 100
    again.close()
