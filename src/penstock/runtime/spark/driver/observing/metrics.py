"""Kafka Streams' metrics of a running application, by level: client, thread, task, node, store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.extras import package_version
from penstock.model.metric import Metric
from penstock.model.recent import Recent
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.meter import Meter, TaskMeter
from penstock.runtime.spark.exchange.measures import StoreMeasures, TaskMeasures
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.runtime.spark.replica.replica import CopyLag
from penstock.runtime.states import State

_CLIENT = "stream-metrics"
_THREAD = "stream-thread-metrics"
_TASK = "stream-task-metrics"
_NODE = "stream-processor-node-metrics"
_TOPIC = "stream-topic-metrics"
_STATE = "stream-state-metrics"
_CACHE = "stream-record-cache-metrics"
#: The group of metrics that Kafka Streams does not have.
_OWN = "penstock-metrics"

#: Java's numbers of the states.
_ORDINALS = {
    State.CREATED: 0,
    State.REBALANCING: 1,
    State.RUNNING: 2,
    State.PENDING_SHUTDOWN: 3,
    State.NOT_RUNNING: 4,
    State.PENDING_ERROR: 5,
    State.ERROR: 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The values from which metrics are made."""

    application_id: str
    client_id: str
    state: State
    threads: int
    topology: str
    meter: Meter
    #: The measures of slots; those that did not answer have none.
    measures: tuple[TaskMeasures, ...] = ()
    restoring: tuple[Restore, ...] = ()
    #: Which source node reads a topic.
    sources: Mapping[str, str]
    lag: Mapping[tuple[str, int], int]
    dropped: Mapping[tuple[str, str], int]
    column_errors: Mapping[str, int]
    sent: int = 0
    logged: int = 0
    reruns: int = 0
    is_detailed: bool = False


def all_metrics(facts: Facts) -> list[Metric]:
    """Return every metric that is known now."""
    return [
        *_client(facts),
        *_threads(facts),
        *_tasks(facts),
        *_stores(facts),
        *_sensors(facts),
        *_own(facts),
    ]


def standby_metrics(
    application_id: str, client_id: str, state: State, lags: Iterable[CopyLag]
) -> list[Metric]:
    """Return the metrics of an instance that stands by."""
    tags = {"client-id": client_id}
    copies = [
        Metric(
            "standby-records-lag", _OWN, each.lag,
            {
                "application-id": application_id, "store": each.store,
                "partition": str(each.task.partition),
            },
            "Changes that the copy of a store has not seen.",
        )
        for each in lags
    ]  # fmt: skip
    return [
        Metric("version", _CLIENT, package_version(), tags, "The version of Penstock."),
        Metric("state", _CLIENT, state.value, tags, "The state of the client."),
        Metric(
            "client-state", _CLIENT, _ORDINALS[state], {**tags, "application-id": application_id},
            "The state as Java numbers it.",
        ),
        *copies,
    ]  # fmt: skip


def _client(facts: Facts) -> Iterator[Metric]:
    tags = {"client-id": facts.client_id}
    is_running = facts.state in (State.RUNNING, State.REBALANCING)
    yield Metric("version", _CLIENT, package_version(), tags, "The version of Penstock.")
    yield Metric("application-id", _CLIENT, facts.application_id, tags, "The application's id.")
    yield Metric("topology-description", _CLIENT, facts.topology, tags, "The topology.")
    yield Metric("state", _CLIENT, facts.state.value, tags, "The state of the client.")
    yield Metric(
        "client-state", _CLIENT, _ORDINALS[facts.state],
        {**tags, "application-id": facts.application_id}, "The state as Java numbers it.",
    )  # fmt: skip
    alive = facts.threads if is_running else 0
    yield Metric("alive-stream-threads", _CLIENT, alive, tags, "Threads that run tasks.")
    failed = facts.threads if facts.state is State.ERROR else 0
    yield Metric("failed-stream-threads", _CLIENT, failed, tags, "Threads that have failed.")


def _thread_id(facts: Facts, slot: int) -> str:
    return f"{facts.application_id}-StreamThread-{slot + 1}"


def _threads(facts: Facts) -> Iterator[Metric]:
    meter = facts.meter
    for slot in range(facts.threads):
        tags = {"thread-id": _thread_id(facts, slot)}
        tasks = [task for task in meter.tasks.values() if task.slot == slot]
        commits = meter.commits_of(slot)
        yield from _timed("commit", _THREAD, commits, tags)
        yield Metric("commit-rate", _THREAD, commits.rate, tags, "Commits a second.")
        yield Metric("commit-total", _THREAD, commits.count, tags, "Commits.")
        rate = sum(task.records.total_rate for task in tasks)
        total = sum(task.processed for task in tasks)
        yield Metric("process-rate", _THREAD, rate, tags, "Records processed a second.")
        yield Metric("process-total", _THREAD, total, tags, "Records processed.")
        busy = sum(task.runs.total_rate for task in tasks) / 1000
        yield Metric("process-ratio", _THREAD, min(busy, 1.0), tags, "Share of time in tasks.")
        slowest = max((t.runs.span.most for t in tasks if t.runs.span), default=0.0)
        average = [task.runs.span.average for task in tasks if task.runs.span]
        mean = sum(average) / len(average) if average else 0.0
        yield Metric("process-latency-avg", _THREAD, mean, tags, "Milliseconds of a task's run.")
        yield Metric("process-latency-max", _THREAD, slowest, tags, "Longest run of a task, in ms.")
        yield Metric("task-created-total", _THREAD, len(tasks), tags, "Tasks that it runs.")
        yield Metric("thread-start-time", _THREAD, meter.began_ms, tags, "When it was started.")
        yield Metric("thread-state", _THREAD, facts.state.value, tags, "State of the thread.")


def _timed(name: str, group: str, values: Recent, tags: Mapping[str, str]) -> Iterator[Metric]:
    span = values.span
    average, most = (0.0, 0.0) if span is None else (span.average, span.most)
    yield Metric(f"{name}-latency-avg", group, average, tags, f"Average {name} time in ms.")
    yield Metric(f"{name}-latency-max", group, most, tags, f"Longest {name} time in ms.")


def _tags(facts: Facts, task: TaskId, slot: int) -> dict[str, str]:
    return {"thread-id": _thread_id(facts, slot), "task-id": str(task)}


def _tasks(facts: Facts) -> Iterator[Metric]:
    for task_id, task in sorted(facts.meter.tasks.items()):
        tags = _tags(facts, task_id, task.slot)
        if facts.is_detailed:
            yield from _timed("process", _TASK, task.runs, tags)
            rate = task.records.total_rate
            yield Metric("process-rate", _TASK, rate, tags, "Records processed a second.")
            yield Metric("process-total", _TASK, task.processed, tags, "Records processed.")
        busy = min(task.runs.total_rate / 1000, 1.0)
        yield Metric("active-process-ratio", _TASK, busy, tags, "Share of time in this task.")
        yield from _counted("dropped-records", task.dropped, tags, "Records dropped")
        yield from _counted("restore", task.restored, tags, "Records restored")
        left = sum(
            each.end - each.position
            for each in facts.restoring
            if each.partition == task_id.partition
        )
        yield Metric(
            "restore-remaining-records-total", _TASK, left, tags, "Records still to be restored."
        )
        yield from _nodes(facts, task, tags)


def _counted(
    name: str, values: Recent | None, tags: Mapping[str, str], text: str
) -> Iterator[Metric]:
    if values is not None:
        yield Metric(f"{name}-rate", _TASK, values.rate, tags, f"{text} a second.")
        yield Metric(f"{name}-total", _TASK, values.count, tags, f"{text}.")


def _nodes(facts: Facts, task: TaskMeter, tags: Mapping[str, str]) -> Iterator[Metric]:
    for topic, values in sorted(task.ages.items()):
        span = values.span
        if span is None:
            continue
        node = {**tags, "processor-node-id": facts.sources.get(topic, topic)}
        what = "ms from a record's timestamp to the end of its batch's task"
        yield Metric("record-e2e-latency-avg", _NODE, span.average, node, f"Average {what}.")
        yield Metric("record-e2e-latency-min", _NODE, span.least, node, f"Least {what}.")
        yield Metric("record-e2e-latency-max", _NODE, span.most, node, f"Most {what}.")
    for topic, count in sorted(task.consumed.items()):
        node = {
            **tags, "processor-node-id": facts.sources.get(topic, topic), "topic-name": topic,
        }  # fmt: skip
        yield Metric("records-consumed-total", _TOPIC, count, node, "Records read.")


def _stores(facts: Facts) -> Iterator[Metric]:
    for task in facts.measures:
        tags = _tags(facts, task.task, task.slot)
        yield Metric(
            "cache-size-bytes-total", _TASK, task.cache_bytes, tags, "Bytes in the record cache."
        )
        for store, values in sorted(task.databases.items()):
            own = {**tags, "rocksdb-state-id": store}
            for name, value in values.items():
                yield Metric(name, _STATE, value, own, f"RocksDB's {name.replace('-', ' ')}.")
        yield from _operations(task.stores, tags)
        for store, (hits, misses) in sorted(task.cache_reads.items()):
            if facts.is_detailed and hits + misses:
                own = {**tags, "record-cache-id": store}
                ratio = hits / (hits + misses)
                yield Metric("hit-ratio-avg", _CACHE, ratio, own, "Reads that the cache answered.")


def _sensors(facts: Facts) -> Iterator[Metric]:
    for task in facts.measures:
        tags = _tags(facts, task.task, task.slot)
        for metric in task.sensors:
            yield metric.tagged(tags)


def _operations(stores: Mapping[str, StoreMeasures], tags: Mapping[str, str]) -> Iterator[Metric]:
    for store, found in sorted(stores.items()):
        scope = "rocksdb" if found.is_persistent else "in-memory"
        own = {**tags, f"{scope}-state-id": store}
        for name, times in sorted(found.operations.items()):
            average, most = times.average_ns, times.most_ns
            yield Metric(f"{name}-rate", _STATE, times.rate, own, f"Calls of {name} a second.")
            yield Metric(f"{name}-latency-avg", _STATE, average, own, f"Average {name} time in ns.")
            yield Metric(f"{name}-latency-max", _STATE, most, own, f"Longest {name} time in ns.")
        scans = found.operations.get("range")
        if scans is not None:
            average, most = scans.average_ns, scans.most_ns
            text = "time in ns from opening an iterator to its close."
            yield Metric("iterator-duration-avg", _STATE, average, own, f"Average {text}")
            yield Metric("iterator-duration-max", _STATE, most, own, f"Longest {text}")
        for name, (average, most) in sorted(found.buffered.items()):
            name, text = f"suppression-buffer-{name}", f"{name} of the buffer after a batch."
            yield Metric(f"{name}-avg", _STATE, average, own, f"Average {text}")
            yield Metric(f"{name}-max", _STATE, most, own, f"Largest {text}")
        count = found.open_iterators
        yield Metric("num-open-iterators", _STATE, count, own, "Iterators that are not closed.")
        if found.oldest_iterator_ms is not None:
            yield Metric(
                "oldest-iterator-open-since-ms", _STATE, found.oldest_iterator_ms, own,
                "When the oldest open iterator was opened.",
            )  # fmt: skip


def _own(facts: Facts) -> Iterator[Metric]:
    meter, tags = facts.meter, {"application-id": facts.application_id}
    yield from _timed("batch", _OWN, meter.batches, tags)
    yield Metric("batches-total", _OWN, meter.batches.count, tags, "Batches committed.")
    yield Metric("reruns-total", _OWN, facts.reruns, tags, "Batches that ran again.")
    yield Metric("records-produced-total", _OWN, facts.sent, tags, "Records sent to topics.")
    yield Metric("changelog-records-total", _OWN, facts.logged, tags, "Records of changelogs.")
    for (topic, partition), count in sorted(facts.lag.items()):
        place = {**tags, "topic": topic, "partition": str(partition)}
        yield Metric("records-lag", _OWN, count, place, "Records that wait to be processed.")
    for (node, reason), count in sorted(facts.dropped.items()):
        why = {**tags, "processor-node-id": node, "reason": reason}
        yield Metric("dropped-records-total", _OWN, count, why, "Records dropped, and why.")
    for fault, count in sorted(facts.column_errors.items()):
        why = {**tags, "fault": fault}
        yield Metric("column-errors-total", _OWN, count, why, "Faults of the column path.")
    yield from _columns(facts.measures, tags)


def _columns(measures: Iterable[TaskMeasures], tags: Mapping[str, str]) -> Iterator[Metric]:
    for task in measures:
        own = {**tags, "task-id": str(task.task)}
        text = "Batches that ran over columns."
        yield Metric("column-batches-total", _OWN, task.column_batches, own, text)
        text = "Batches that ran record at a time, and why."
        for reason, count in sorted(task.record_batches.items()):
            yield Metric("record-batches-total", _OWN, count, {**own, "reason": reason}, text)
        if task.never_columns:
            why = {**own, "reason": task.never_columns}
            text = "Tasks that always run record at a time, and why."
            yield Metric("record-at-a-time", _OWN, 1, why, text)
