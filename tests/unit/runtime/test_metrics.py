"""Metrics have Kafka Streams' names, groups and tags."""

from __future__ import annotations

from typing import Any

from penstock.model.metric import Metric
from penstock.model.recent import Span
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.metrics import Facts, all_metrics
from penstock.runtime.spark.exchange.measures import (
    OperationTimes,
    StoreMeasures,
    TaskMeasures,
)
from penstock.runtime.spark.exchange.stage_request import Report, Restore
from penstock.runtime.states import State

TASK = TaskId(0, 1)
#: The operations that stores of any kind are asked for.
OPERATIONS = (
    "delete",
    "delete-range",
    "flush",
    "get",
    "get-all",
    "put",
    "put-all",
    "range",
    "restore",
)
STORES = {
    "s": StoreMeasures(
        operations={name: OperationTimes(2.0, 150.0, 300.0) for name in OPERATIONS},
        open_iterators=1,
        oldest_iterator_ms=5,
        buffered={"count": (2.0, 3.0), "size": (20.0, 30.0)},
    )
}


def facts(**changed: Any) -> Facts:
    meter = Meter(30.0, 2)
    report = Report(
        task=TASK, stage=0, slot=1, records=40, seconds=0.2, consumed={"in": 40},
        ages={"in": Span(40, 400.0, 1.0, 30.0)}, dropped={("filter", "null key"): 3},
    )  # fmt: skip
    meter.note(7, [report], 0.5, 0.2)
    given = {
        "application_id": "app",
        "client_id": "client",
        "state": State.RUNNING,
        "threads": 2,
        "topology": "Topologies:\n",
        "meter": meter,
        "measures": (
            TaskMeasures(
                task=TASK, slot=1, cache_bytes=77, cache_reads={"s": (3, 1)},
                databases={"s": {"estimate-num-keys": 9}}, column_batches=4, stores=STORES,
                record_batches={"a null": 2}, never_columns="map: a lambda",
                sensors=(Metric("sold-total", "stream-till-metrics", 3, {"till-id": "n"}, "It."),),
            ),
        ),
        "sources": {"in": "KSTREAM-SOURCE-0"},
        "lag": {("in", 1): 12},
        "dropped": {("filter", "null key"): 3},
        "column_errors": {"ValueError at x.py:1": 1},
    }  # fmt: skip
    return Facts(**{**given, **changed})


def found(name: str, group: str, **changed: Any) -> list[Metric]:
    return [m for m in all_metrics(facts(**changed)) if (m.name, m.group) == (name, group)]


def test_every_level_has_its_names_and_tags() -> None:
    thread = {"thread-id": "app-StreamThread-2"}
    task = {**thread, "task-id": "0_1"}
    expected: dict[tuple[str, str], tuple[object, dict[str, str]]] = {
        ("state", "stream-metrics"): ("RUNNING", {"client-id": "client"}),
        ("alive-stream-threads", "stream-metrics"): (2, {"client-id": "client"}),
        ("dropped-records-total", "stream-task-metrics"): (3, task),
        ("cache-size-bytes-total", "stream-task-metrics"): (77, task),
        ("record-e2e-latency-max", "stream-processor-node-metrics"): (
            30.0, {**task, "processor-node-id": "KSTREAM-SOURCE-0"},
        ),
        ("records-consumed-total", "stream-topic-metrics"): (
            40, {**task, "processor-node-id": "KSTREAM-SOURCE-0", "topic-name": "in"},
        ),
        ("estimate-num-keys", "stream-state-metrics"): (9, {**task, "rocksdb-state-id": "s"}),
        ("sold-total", "stream-till-metrics"): (3, {**task, "till-id": "n"}),
        ("records-lag", "penstock-metrics"): (
            12, {"application-id": "app", "topic": "in", "partition": "1"},
        ),
        ("record-batches-total", "penstock-metrics"): (
            2, {"application-id": "app", "task-id": "0_1", "reason": "a null"},
        ),
        ("record-at-a-time", "penstock-metrics"): (
            1, {"application-id": "app", "task-id": "0_1", "reason": "map: a lambda"},
        ),
    }  # fmt: skip
    for (name, group), (value, tags) in expected.items():
        (metric,) = found(name, group)
        assert (metric.value, metric.tags) == (value, tags), name
        assert metric.description.endswith(".")


def test_each_thread_has_its_own_figures() -> None:
    totals = {m.tags["thread-id"]: m.value for m in found("process-total", "stream-thread-metrics")}
    assert totals == {"app-StreamThread-1": 0, "app-StreamThread-2": 40}
    commits = {m.tags["thread-id"]: m.value for m in found("commit-total", "stream-thread-metrics")}
    assert commits == {"app-StreamThread-1": 0, "app-StreamThread-2": 1}


def test_details_are_only_told_when_wanted() -> None:
    assert found("process-total", "stream-task-metrics") == []
    (metric,) = found("process-total", "stream-task-metrics", is_detailed=True)
    assert metric.value == 40
    (ratio,) = found("hit-ratio-avg", "stream-record-cache-metrics", is_detailed=True)
    assert ratio.value == 0.75


def test_operations_of_stores_have_javas_names() -> None:
    """Times are in nanoseconds; the tag says which kind of store it is."""
    tags = {"thread-id": "app-StreamThread-2", "task-id": "0_1", "rocksdb-state-id": "s"}
    expected = {
        "put-rate": 2.0, "get-latency-avg": 150.0, "range-latency-max": 300.0,
        "iterator-duration-avg": 150.0, "num-open-iterators": 1,
        "oldest-iterator-open-since-ms": 5, "suppression-buffer-count-avg": 2.0,
        "suppression-buffer-size-max": 30.0,
    }  # fmt: skip
    for name, value in expected.items():
        (metric,) = found(name, "stream-state-metrics")
        assert (metric.value, metric.tags) == (value, tags), name
    in_memory = {"m": StoreMeasures(operations={}, is_persistent=False)}
    measures = (TaskMeasures(task=TASK, slot=1, stores=in_memory),)
    (count,) = found("num-open-iterators", "stream-state-metrics", measures=measures)
    assert (count.value, count.tags["in-memory-state-id"]) == (0, "m")


def test_a_restore_is_visible_and_so_is_an_end() -> None:
    restoring = (Restore("s", "t", 1, 0, 100, 40, 40),)
    (left,) = found("restore-remaining-records-total", "stream-task-metrics", restoring=restoring)
    assert left.value == 60
    (state,) = found("client-state", "stream-metrics", state=State.ERROR)
    assert state.value == 6
    (alive,) = found("alive-stream-threads", "stream-metrics", state=State.ERROR)
    assert alive.value == 0


def test_no_name_is_used_twice_for_the_same_thing() -> None:
    names = [metric.metric_name for metric in all_metrics(facts(is_detailed=True))]
    assert len(names) == len(set(names))
