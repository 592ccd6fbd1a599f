"""What a running application says of itself, put together from its meter, lags and slots."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from penstock.errors import PenstockError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.observing.failure_log import failure_of, now_ms
from penstock.runtime.spark.driver.observing.meter import TaskMeter
from penstock.runtime.spark.exchange.measures import TaskMeasures
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.runtime.states import State
from penstock.serving.status.values import (
    ApplicationStatus,
    CopyRole,
    CopyStatus,
    Failure,
    NodeStatus,
    RestoreProgress,
    StoreStatus,
    TaskStatus,
    ThreadStatus,
    Waiting,
)

if TYPE_CHECKING:
    from penstock.model.task_id import TaskId
    from penstock.runtime.spark.driver.application_run import ApplicationRun
    from penstock.runtime.spark.driver.batch_runner import BatchRunner
    from penstock.runtime.spark.driver.instances.instance import Instance as Registered

#: RocksDB's names of what a store holds.
_ENTRIES, _BYTES = "estimate-num-keys", "total-sst-files-size"
_MEMTABLES = "cur-size-all-mem-tables"


class Observed(Protocol):
    """The part of ``KafkaStreams`` and of ``QueryInstance`` that a status needs."""

    @property
    def state(self) -> State: ...
    @property
    def waiting_for(self) -> str | None: ...
    @property
    def error(self) -> Exception | None: ...
    def restoring(self) -> list[Restore]: ...


def application_status(
    streams: Observed,
    run: ApplicationRun | None,
    leading: BatchRunner | None,
    failures: tuple[Failure, ...] = (),
    *,
    is_watched: bool,
) -> ApplicationStatus:
    """Return the status of an instance.

    Args:
        streams: the application.
        run: its run; None before the start and after the end.
        leading: its runner; None if another instance may lead.
        failures: why it could not start, or had to begin anew.
        is_watched: whether Kafka and the slots may be asked.
    """
    now = now_ms()
    if leading is not None:
        failures = (*failures, *leading.progress.failures.latest())
    failures = tuple(sorted(failures, key=lambda each: each.at_ms))
    common = _Common(streams, failures, now)
    if run is None or leading is None:
        return common.without_runner(run)
    progress, meter = leading.progress, leading.meter
    lag = dict(run.last_lag)
    if is_watched and progress.may_ask:
        with contextlib.suppress(PenstockError):
            lag = run.lag()
    measures = leading.measures() if is_watched else []
    by_task = {each.task: each for each in measures}
    endpoints = dict(leading.placement.endpoints)
    name = run.application_id
    return ApplicationStatus(
        at_ms=now,
        state=common.state.value,
        since_ms=common.since_ms,
        started_ms=progress.began_ms,
        is_alive=common.is_alive,
        is_ready=common.state is State.RUNNING,
        is_paused=common.is_paused,
        waiting=common.waiting,
        error=common.error,
        failures=failures,
        records=progress.records,
        sent=progress.sent,
        logged=progress.logged,
        restored=progress.restored,
        commits=progress.batches,
        reruns=progress.reruns,
        lag=by_topic(lag),
        consumed=_consumed(meter.tasks.values()),
        latencies=meter.latencies,
        restoring=common.restoring(is_watched=is_watched),
        threads=tuple(
            ThreadStatus(
                name=thread_name(name, slot),
                host=endpoints[slot].host if slot in endpoints else None,
                executor=endpoints[slot].executor if slot in endpoints else None,
                is_alive=slot in endpoints,
            )
            for slot in range(leading.used_slots)
        ),
        tasks=tuple(
            _task(name, task, found, by_task.get(task))
            for task, found in sorted(meter.tasks.items())
        ),
        nodes=tuple(_nodes(progress.dropped, measures)),
        stores=tuple(_stores(measures)),
        copies=_copies(run.instance),
        recent=tuple(meter.recent),
        column_errors=dict(progress.column_errors),
    )  # fmt: skip


class _Common:
    """What is known of an instance whether it leads or not."""

    def __init__(self, streams: Observed, failures: tuple[Failure, ...], now: int) -> None:
        self._streams, self.failures, self.now = streams, failures, now
        state = self.state = streams.state
        self.since_ms: int | None = getattr(streams, "state_since_ms", None)
        self.is_alive = not state.has_ended and state is not State.PENDING_ERROR
        self.is_paused: bool = getattr(streams, "is_paused", False)
        told = streams.waiting_for if self.is_alive else None
        self.waiting = None if told is None else Waiting(what=told, fix=_fix(told, failures))
        error = streams.error
        self.error = None if error is None else failure_of(error, self.since_ms or now)

    def without_runner(self, run: ApplicationRun | None) -> ApplicationStatus:
        registered = None if run is None else run.instance
        has_copies = registered is not None and registered.copies is not None
        return ApplicationStatus(
            at_ms=self.now,
            state=self.state.value,
            since_ms=self.since_ms,
            is_alive=self.is_alive,
            is_ready=self.state is State.RUNNING,
            is_leader=not has_copies,
            is_paused=self.is_paused,
            waiting=self.waiting,
            error=self.error,
            failures=self.failures,
            restoring=self.restoring(is_watched=True),
            copies=_copies(registered),
        )

    def restoring(self, *, is_watched: bool) -> tuple[RestoreProgress, ...]:
        if self.state is State.RUNNING and not is_watched:
            return ()
        try:
            found = self._streams.restoring()
        except (PenstockError, OSError, EOFError):
            # A slot that is ending does not answer.
            return ()
        return tuple(
            RestoreProgress(
                store=each.store, partition=each.partition, start=each.start,
                position=each.position, end=each.end,
            )
            for each in found
            if each.position < each.end
        )  # fmt: skip


def _fix(told: str, failures: tuple[Failure, ...]) -> str | None:
    """Return what to do about the failure for which an application waits."""
    return next((each.fix for each in reversed(failures) if each.message == told), None)


def by_topic(lag: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    """Return lags by topic, then by partition."""
    found: dict[str, dict[int, int]] = {}
    for (topic, number), waits in lag.items():
        found.setdefault(topic, {})[number] = waits
    return found


def thread_name(application: str, slot: int) -> str:
    """Return Kafka Streams' name of a stream thread."""
    return f"{application}-StreamThread-{slot + 1}"


def _consumed(tasks: Iterable[TaskMeter]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for task in list(tasks):
        found.update(task.consumed)
    return dict(found)


def _task(
    application: str, task: TaskId, found: TaskMeter, measured: TaskMeasures | None
) -> TaskStatus:
    return TaskStatus(
        id=str(task),
        thread=thread_name(application, found.slot),
        records=found.processed,
        busy_ms=found.busy_ms,
        dropped=0 if found.dropped is None else found.dropped.count,
        restored=0 if found.restored is None else found.restored.count,
        column_batches=0 if measured is None else measured.column_batches,
        record_batches=0 if measured is None else sum(measured.record_batches.values()),
    )


def _nodes(
    dropped: Mapping[tuple[str, str], int], measures: Iterable[TaskMeasures]
) -> Iterator[NodeStatus]:
    by_node: dict[str, dict[str, int]] = {}
    for (node, reason), number in list(dropped.items()):
        by_node.setdefault(node, {})[reason] = number
    records, busy_ns = Counter[str](), Counter[str]()
    for task in measures:
        for name, (count, spent) in task.nodes.items():
            records[name] += count
            busy_ns[name] += spent
    for name in sorted(by_node.keys() | records.keys()):
        yield NodeStatus(
            name=name,
            records=records[name],
            busy_ns=busy_ns[name],
            dropped=by_node.get(name, {}),
        )


def _stores(measures: Iterable[TaskMeasures]) -> Iterator[StoreStatus]:
    for task in measures:
        for name, values in sorted(task.databases.items()):
            entries = values.get(_ENTRIES)
            yield StoreStatus(
                name=name,
                partition=task.task.partition,
                entries=None if entries is None else int(entries),
                size_bytes=int(values.get(_BYTES, 0) + values.get(_MEMTABLES, 0)),
            )


def _copies(registered: Registered | None) -> tuple[CopyStatus, ...]:
    """Return the copies that this instance keeps."""
    copies = None if registered is None else registered.copies
    if registered is None or copies is None:
        return ()
    role = CopyRole.STANDBY if registered.record.may_lead else CopyRole.REPLICA
    return tuple(
        CopyStatus(
            store=each.store, partition=each.task.partition, instance=registered.id, role=role,
            lag=each.lag,
        )
        for each in copies.lags()
    )  # fmt: skip
