"""The JSON of ``/status`` and of what stands beside it; times are milliseconds since the epoch."""

from __future__ import annotations

from msgspec import Struct

from penstock.serving.status.history import Observation, Point
from penstock.serving.status.values import (
    ApplicationStatus,
    CommitStatus,
    CopyStatus,
    Failure,
    Program,
    RestoreProgress,
    SourceLines,
    ThreadStatus,
)
from penstock.serving.status.verdict import is_backlog, verdict
from penstock.serving.wire.models import InstanceModel


class VerdictModel(Struct, frozen=True):
    """Whether it is well: ``level`` is well, busy, warning or bad."""

    level: str
    headline: str
    detail: str
    fix: str


class WaitingModel(Struct, frozen=True):
    """What it waits for, and since when."""

    what: str
    fix: str | None
    since_ms: int | None


class FailureModel(Struct, frozen=True):
    """One failure; ``site`` is the line of the program."""

    at_ms: int
    code: str
    message: str
    fix: str | None
    site: str | None
    count: int


class TotalsModel(Struct, frozen=True):
    """Counters since the start."""

    records: int
    sent: int
    logged: int
    restored: int
    commits: int
    reruns: int
    dropped: int


class RatesModel(Struct, frozen=True):
    """Records a second over the last seconds."""

    records: float
    sent: float
    arriving: float
    consumed: dict[str, float]


class LagModel(Struct, frozen=True):
    """Records that wait. ``clear_s``: seconds until none does, at the present speed.

    ``is_backlog``: more of them wait than a moment's work.
    """

    total: int | None
    clear_s: float | None
    is_backlog: bool
    topics: dict[str, dict[str, int]]


class LatencyModel(Struct, frozen=True):
    """The age of records when they were committed, over the last half minute."""

    p50_ms: float | None
    p99_ms: float | None


class RestoringModel(Struct, frozen=True):
    """How far a store has been read back from its changelog."""

    store: str
    partition: int
    start: int
    position: int
    end: int


class ThreadModel(Struct, frozen=True):
    """One stream thread and its share of time in tasks."""

    name: str
    host: str | None
    executor: str | None
    is_alive: bool
    share: float
    tasks: list[str]


class TaskModel(Struct, frozen=True):
    """One task: totals, and what it did lately."""

    id: str
    thread: str | None
    records: int
    rate: float
    share: float
    dropped: int
    restored: int
    column_batches: int
    record_batches: int


class NodeModel(Struct, frozen=True):
    """One node over all its tasks: totals, and what it did lately."""

    name: str
    records: int
    rate: float
    #: Share of one processor.
    share: float
    dropped: dict[str, int]
    drop_rate: float


class StoreSizeModel(Struct, frozen=True):
    """One partition of a store, as its engine estimates it."""

    name: str
    partition: int
    entries: int | None
    size_bytes: int | None


class CopyModel(Struct, frozen=True):
    """A copy of a partition of a store, and how many changes it has not seen."""

    store: str
    partition: int
    instance: str
    role: str
    lag: int | None


class CommitModel(Struct, frozen=True):
    """One commit and its parts."""

    number: int
    at_ms: int
    records: int
    took_ms: float
    working_ms: float
    threads: dict[str, float]


class EventModel(Struct, frozen=True):
    """What happened: ``kind`` is state, thread, move or restore."""

    at_ms: int
    kind: str
    text: str


class StatusModel(Struct, frozen=True):
    """The application at one moment, with its speed over the last seconds."""

    application: str
    instance: str
    version: str
    at_ms: int
    state: str
    since_ms: int
    started_ms: int | None
    is_ready: bool
    is_leader: bool
    is_paused: bool
    verdict: VerdictModel
    waiting: WaitingModel | None
    error: FailureModel | None
    failures: list[FailureModel]
    totals: TotalsModel
    rates: RatesModel
    lag: LagModel
    latency: LatencyModel
    restoring: list[RestoringModel]
    instances: list[InstanceModel]
    threads: list[ThreadModel]
    tasks: list[TaskModel]
    nodes: list[NodeModel]
    stores: list[StoreSizeModel]
    copies: list[CopyModel]
    commits: list[CommitModel]
    events: list[EventModel]
    column_errors: dict[str, int]


class PointModel(Struct, frozen=True):
    """One moment of the series; ``busy`` is the share of time by task."""

    at_ms: int
    records: float | None
    sent: float | None
    lag: int | None
    p50_ms: float | None
    p99_ms: float | None
    commit_ms: float | None


class HistoryModel(Struct, frozen=True):
    """The last hour, oldest first."""

    application: str
    points: list[PointModel]


class HeatModel(Struct, frozen=True):
    """Lag by source partition and share of time by task, over time: a row for each.

    A value is null where nothing was known at that moment.
    """

    application: str
    at_ms: list[int]
    lags: dict[str, list[int | None]]
    busy: dict[str, list[float | None]]


class SourceModel(Struct, frozen=True):
    """A statement of the user's program."""

    file: str
    first: int
    lines: list[str]


class ProgramModel(Struct, frozen=True):
    """The code behind nodes, by line; which sub-topologies run over columns, and why others do not.

    ``why_records`` has a reason for each node in the way.
    """

    application: str
    sources: dict[str, SourceModel]
    why_records: dict[str, str]
    columnar: list[int]


def status_model(
    application: str, instance: str, version: str, seen: Observation, instances: list[InstanceModel]
) -> StatusModel:
    status = seen.status
    told = verdict(seen)
    waiting = status.waiting
    return StatusModel(
        application=application,
        instance=instance,
        version=version,
        at_ms=status.at_ms,
        state=status.state,
        since_ms=seen.since_ms,
        started_ms=status.started_ms,
        is_ready=status.is_ready,
        is_leader=status.is_leader,
        is_paused=status.is_paused,
        verdict=VerdictModel(told.level.value, told.headline, told.detail, told.fix),
        waiting=None
        if waiting is None
        else WaitingModel(waiting.what, waiting.fix, seen.waiting_since_ms),
        error=None if status.error is None else _failure(status.error),
        failures=[_failure(each) for each in status.failures],
        totals=_totals(status),
        rates=RatesModel(
            _rounded(seen.speed),
            _rounded(seen.point.sent or 0.0),
            _rounded(seen.arriving),
            {topic: _rounded(rate) for topic, rate in seen.consumed.items()},
        ),
        lag=LagModel(
            seen.lag,
            _some(seen.clear_s),
            is_backlog(seen),
            {
                topic: {str(number): waits for number, waits in sorted(parts.items())}
                for topic, parts in sorted((status.lag or {}).items())
            },
        ),
        latency=LatencyModel(seen.point.p50_ms, seen.point.p99_ms),
        restoring=[_restoring(each) for each in status.restoring],
        instances=instances,
        threads=[_thread(each, seen) for each in status.threads],
        tasks=_tasks(seen),
        nodes=_nodes(seen),
        stores=[
            StoreSizeModel(each.name, each.partition, each.entries, each.size_bytes)
            for each in status.stores
        ],
        copies=[_copy(each) for each in status.copies],
        commits=[_commit(each) for each in status.recent],
        events=[EventModel(each.at_ms, each.kind.value, each.text) for each in seen.events],
        column_errors=dict(status.column_errors),
    )


def point_model(point: Point) -> PointModel:
    return PointModel(
        point.at_ms,
        _some(point.records),
        _some(point.sent),
        point.lag,
        point.p50_ms,
        point.p99_ms,
        _some(point.commit_ms),
    )


def heat_model(application: str, points: list[Point]) -> HeatModel:
    places = sorted(
        {(topic, part) for point in points for topic, parts in point.lags.items() for part in parts}
    )
    tasks = sorted({name for point in points for name in point.busy})
    return HeatModel(
        application,
        [point.at_ms for point in points],
        {
            f"{topic}-{part}": [point.lags.get(topic, {}).get(part) for point in points]
            for topic, part in places
        },
        {
            name: [
                None if name not in point.busy else round(point.busy[name], 3) for point in points
            ]
            for name in tasks
        },
    )


def program_model(application: str, program: Program) -> ProgramModel:
    return ProgramModel(
        application,
        {site: _source(lines) for site, lines in program.sources.items()},
        dict(program.why_records),
        sorted(program.columnar),
    )


def _source(lines: SourceLines) -> SourceModel:
    return SourceModel(lines.file, lines.first, list(lines.lines))


def _totals(status: ApplicationStatus) -> TotalsModel:
    dropped = sum(sum(node.dropped.values()) for node in status.nodes)
    return TotalsModel(
        status.records, status.sent, status.logged, status.restored, status.commits,
        status.reruns, dropped,
    )  # fmt: skip


def _failure(failure: Failure) -> FailureModel:
    return FailureModel(
        failure.at_ms, failure.code, failure.message, failure.fix, failure.site, failure.count
    )


def _restoring(each: RestoreProgress) -> RestoringModel:
    return RestoringModel(each.store, each.partition, each.start, each.position, each.end)


def _thread(thread: ThreadStatus, seen: Observation) -> ThreadModel:
    own = [task.id for task in seen.status.tasks if task.thread == thread.name]
    share = sum(seen.tasks[name].share for name in own if name in seen.tasks)
    return ThreadModel(
        thread.name, thread.host, thread.executor, thread.is_alive, _rounded(min(share, 1.0)), own
    )


def _tasks(seen: Observation) -> list[TaskModel]:
    return [
        TaskModel(
            task.id, task.thread, task.records, _rounded(seen.tasks[task.id].records),
            _rounded(seen.tasks[task.id].share), task.dropped, task.restored, task.column_batches,
            task.record_batches,
        )
        for task in seen.status.tasks
    ]  # fmt: skip


def _nodes(seen: Observation) -> list[NodeModel]:
    return [
        NodeModel(
            node.name, node.records, _rounded(seen.nodes[node.name].records),
            _rounded(seen.nodes[node.name].share), dict(node.dropped),
            _rounded(seen.nodes[node.name].dropped),
        )
        for node in seen.status.nodes
    ]  # fmt: skip


def _copy(copy: CopyStatus) -> CopyModel:
    return CopyModel(copy.store, copy.partition, copy.instance, copy.role.value, copy.lag)


def _commit(commit: CommitStatus) -> CommitModel:
    return CommitModel(
        commit.number, commit.at_ms, commit.records, _rounded(commit.took_ms),
        _rounded(commit.working_ms),
        {name: _rounded(spent) for name, spent in commit.threads.items()},
    )  # fmt: skip


def _some(value: float | None) -> float | None:
    return None if value is None else _rounded(value)


def _rounded(value: float) -> float:
    return round(value, 3)
