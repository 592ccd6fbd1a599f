"""The metrics of a slot's tasks are measured without waiting for a batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import penstock as ps
from penstock.errors import StoreError
from penstock.kernel.observing.sensors import TaskSensors
from penstock.model.task_id import TaskId
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.worker.measures import StoreTimes, slot_measures
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.pending import PendingStore
from penstock.state.engine.rocks import PROPERTIES, open_rocks
from penstock.state.spec import StoreKind


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
        "kernel": SimpleNamespace(columns=columns, meter=None),
        "times": None,
        "stores": {},
        "sensors": TaskSensors("INFO", (30.0, 2), lambda: 0.0),
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


def test_sensors_of_processors_are_told() -> None:
    sensors = TaskSensors("INFO", (30.0, 2), lambda: 0.0)
    sensors.add_rate_total_sensor("till", "one", "sell").record()
    (found,) = slot_measures(slot(sensors=sensors))
    assert [(metric.name, metric.value) for metric in found.sensors] == [
        ("sell-rate", 1 / 30), ("sell-total", 1),
    ]  # fmt: skip


def test_a_task_that_never_runs_over_columns_says_why() -> None:
    (found,) = slot_measures(slot(is_vectorised=False))
    assert found.never_columns == "map: a lambda"


def test_a_task_that_is_not_ready_tells_nothing() -> None:
    (found,) = slot_measures(slot(cache=None, kernel=None))
    assert (found.cache_bytes, found.databases, found.never_columns) == (0, {}, "")


def test_operations_of_stores_are_told_if_they_are_measured() -> None:
    """A rate is over the last samples, as all rates are."""
    now = [100.0]
    times = StoreTimes(30.0, 2, clock=lambda: now[0])
    for elapsed_ns in (100, 300):
        times.record("s", "put", elapsed_ns)
    first, second = times.opened("s"), times.opened("s")
    times.closed("s", second)
    stores = {"s": SimpleNamespace(persistent=True), "m": SimpleNamespace(persistent=False)}
    (found,) = slot_measures(slot(times=times, stores=stores))
    put = found.stores["s"].operations["put"]
    assert (put.rate, put.average_ns, put.most_ns) == (2 / 30, 200, 300)
    assert found.stores["s"].open_iterators == 1
    assert found.stores["s"].oldest_iterator_ms is not None
    assert (found.stores["m"].operations, found.stores["m"].is_persistent) == ({}, False)
    times.closed("s", first)
    now[0] += 100.0
    after = times.of("s", is_persistent=True)
    assert (after.operations, after.oldest_iterator_ms) == ({}, None)


def test_a_task_measures_its_stores_at_debug_only() -> None:
    """At INFO the layer that measures is not there."""
    assert _operations_at("INFO") == {}
    assert {"get", "put"} <= set(_operations_at("DEBUG")["counts"].operations)


def test_the_restore_of_a_store_is_timed_at_debug() -> None:
    """From opening the stores to the end of the changelog; a start without one has no restore."""
    kafka = MemoryKafka()
    assert "restore" not in _operations_at("DEBUG", kafka)["counts"].operations
    restored = _operations_at("DEBUG", kafka)["counts"].operations["restore"]
    assert restored.average_ns == restored.most_ns > 0
    assert _operations_at("INFO", kafka) == {}


def test_buffers_are_measured_after_a_batch() -> None:
    """How many records wait to be emitted, and how large they are."""
    times = StoreTimes(30.0, 2)
    kind = StoreKind.TIME_ORDERED_BUFFER
    for records in (1, 3):
        buffer = SimpleNamespace(kind=kind, num_records=records, buffer_size_bytes=10 * records)
        other = SimpleNamespace(kind=StoreKind.WINDOW)
        times.note_buffers({"b": buffer, "s": other})
    assert times.of("b", is_persistent=False).buffered == {"count": (2, 3), "size": (20, 30)}
    assert times.of("s", is_persistent=True).buffered == {}


def _operations_at(level: str, kafka: MemoryKafka | None = None) -> dict[str, Any]:
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="string").group_by_key().count("counts")
    kafka = kafka or MemoryKafka()
    kafka.create("in")
    kafka.append("in", b"ann", b"x", 1)
    settings = {"application.id": "app", "metrics.recording.level": level}
    application = StagedApplication(builder.build().graph, settings, kafka)
    application.run_batch(0)
    (slot,) = application._slots.values()
    (found,) = slot_measures(slot)
    application.close()
    return dict(found.stores)
