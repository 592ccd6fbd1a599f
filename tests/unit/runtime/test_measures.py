"""The metrics of a slot's tasks are measured without waiting for a batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from penstock.errors import StoreError
from penstock.model.task_id import TaskId
from penstock.runtime.spark.worker.measures import slot_measures
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.pending import PendingStore
from penstock.state.engine.rocks import PROPERTIES, open_rocks


class Closing:
    def properties(self) -> dict[str, int]:
        raise StoreError("store-closed", "it is being closed")


def slot(**given: Any) -> Any:
    columns = SimpleNamespace(
        plan=SimpleNamespace(is_vectorised=given.pop("is_vectorised", True)),
        batches=5,
        reasons=Counter({"a null": 2}),
        why_not="map: a lambda",
    )
    state = {
        "databases": SimpleNamespace(engines=given.pop("engines", {})),
        "cache": SimpleNamespace(size_bytes=77, reads=lambda: {"s": (3, 1)}),
        "kernel": SimpleNamespace(columns=columns),
    }
    return SimpleNamespace(number=1, tasks={TaskId(0, 1): SimpleNamespace(**{**state, **given})})


def test_caches_columns_and_databases_are_told(tmp_path: Path) -> None:
    rocks = PendingStore(open_rocks(tmp_path / "s", "s"))
    engines = {"s": rocks, "m": PendingStore(MemoryStore()), "closing": Closing()}
    (found,) = slot_measures(slot(engines=engines))
    assert (found.task, found.slot, found.cache_bytes) == (TaskId(0, 1), 1, 77)
    assert found.cache_reads == {"s": (3, 1)}
    assert (found.column_batches, found.record_batches) == (5, {"a null": 2})
    assert found.never_columns == ""
    assert set(found.databases) == {"s"}
    assert set(found.databases["s"]) == set(PROPERTIES)
    rocks.close()


def test_a_task_that_never_runs_over_columns_says_why() -> None:
    (found,) = slot_measures(slot(is_vectorised=False))
    assert found.never_columns == "map: a lambda"


def test_a_task_that_is_not_ready_tells_nothing() -> None:
    (found,) = slot_measures(slot(cache=None, kernel=None))
    assert (found.cache_bytes, found.databases, found.never_columns) == (0, {}, "")
