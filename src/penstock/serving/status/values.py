"""What a running application says of itself at one moment, as plain values.

Counters are totals that only grow, so that whoever compares two samples has rates over any time.
``penstock.serving.status.history`` does that. The JSON is in ``penstock.serving.status.models``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.model.latencies import NO_LATENCIES, Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What the application waits for, and what its operator can do about it."""

    what: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure of a batch, a task or the application."""

    at_ms: int
    code: str
    message: str
    #: What to do about it.
    fix: str | None = None
    #: The line of the user's program, such as ``app.py:12``.
    site: str | None = None
    #: How often it has happened in a row.
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreProgress:
    """How far a store has been read back from its changelog."""

    store: str
    partition: int
    start: int
    position: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStatus:
    """One stream thread: a Spark task that stays."""

    name: str
    #: Where it runs: the host, and Spark's name of the executor.
    host: str | None = None
    executor: str | None = None
    is_alive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """One task: one partition of one sub-topology."""

    #: Kafka Streams' name, such as ``0_3``: sub-topology 0, partition 3.
    id: str
    thread: str | None
    #: Records processed since the start.
    records: int = 0
    #: Milliseconds in which it processed.
    busy_ms: float = 0.0
    dropped: int = 0
    restored: int = 0
    #: How many batches ran over columns, and how many record by record.
    column_batches: int = 0
    record_batches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """One node of the topology, over all tasks that run it.

    ``records`` and ``busy_ns`` are estimates where records run one by one: only some are measured.
    """

    name: str
    #: Records that the node was given.
    records: int = 0
    #: Nanoseconds in the node itself, without the nodes behind it.
    busy_ns: int = 0
    #: By reason: records that it dropped.
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """One partition of a store, as its engine estimates it."""

    name: str
    partition: int
    entries: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatus:
    """One commit: how long it took, what it brought, and which part took how long."""

    number: int
    at_ms: int
    records: int
    took_ms: float
    #: Milliseconds in which the slowest task of each stage was processing.
    working_ms: float
    #: By thread: milliseconds in which its tasks were processing.
    threads: Mapping[str, float] = field(default_factory=dict)


class CopyRole(StrEnum):
    """What an instance does for a partition that it does not own."""

    STANDBY = "standby"
    REPLICA = "replica"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStatus:
    """A copy of one partition of a store, and how many changes it has not seen."""

    store: str
    partition: int
    instance: str
    role: CopyRole
    lag: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationStatus:
    """An application at one moment."""

    at_ms: int
    #: Kafka Streams' state: CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, ...
    state: str
    #: Since when it has this state, and since when batches run; None if that is not known.
    since_ms: int | None = None
    started_ms: int | None = None
    is_alive: bool = True
    is_ready: bool = True
    is_leader: bool = True
    is_paused: bool = False
    waiting: Waiting | None = None
    #: Why the application has ended; None while it has not failed.
    error: Failure | None = None
    #: The last failures that it got over, the newest last.
    failures: tuple[Failure, ...] = ()
    records: int = 0
    sent: int = 0
    logged: int = 0
    restored: int = 0
    commits: int = 0
    reruns: int = 0
    #: Records of source topics that wait, by topic and partition. None: not known right now.
    lag: Mapping[str, Mapping[int, int]] | None = None
    #: By topic: records that were read.
    consumed: Mapping[str, int] = field(default_factory=dict)
    #: The ages of records when they were committed, since the start.
    latencies: Latencies = NO_LATENCIES
    restoring: tuple[RestoreProgress, ...] = ()
    threads: tuple[ThreadStatus, ...] = ()
    tasks: tuple[TaskStatus, ...] = ()
    nodes: tuple[NodeStatus, ...] = ()
    stores: tuple[StoreStatus, ...] = ()
    copies: tuple[CopyStatus, ...] = ()
    #: The newest commits, the newest last.
    recent: tuple[CommitStatus, ...] = ()
    #: Faults in the column path, by kind and place: results are right, but slower.
    column_errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLines:
    """The statement of the user's program that made a node."""

    file: str
    #: The number of the first line.
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is known of a program besides its topology; it does not change while it runs."""

    #: By line of the user's program, such as ``app.py:12``: its code, where it can be read.
    sources: Mapping[str, SourceLines] = field(default_factory=dict)
    #: By node: why its sub-topology runs record by record.
    why_records: Mapping[str, str] = field(default_factory=dict)
    #: The numbers of the sub-topologies that run over columns.
    columnar: frozenset[int] = frozenset()
