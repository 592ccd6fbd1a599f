"""What the driver sends to a slot, and what the slot answers: plain values that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.measures import Span
from penstock.runtime.spark.exchange.plan import Plan

Range = tuple[int, int]
#: By offset of a bundle: how many of its records have been processed, when not all have.
Skips = Mapping[int, int]


class Limits(NamedTuple):
    """What one slot may take on in one stage; a slot that reaches a limit commits what it has."""

    bytes: int
    seconds: float


NO_LIMITS = Limits(1 << 40, 1e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything about an application that does not change while one driver leads it."""

    id: str
    plan: Plan
    config: Mapping[str, Any]
    state_dir: str
    exactly_once: bool
    consumer: Mapping[str, Any]
    restore_consumer: Mapping[str, Any]
    global_consumer: Mapping[str, Any]
    producer: Mapping[str, Any]
    #: Taken by each driver that begins to lead; a slot of a smaller one may no longer write.
    generation: int
    #: Distinguishes two drivers that have taken the same generation in topics made anew.
    run_id: str
    batches_topic: str

    @property
    def key(self) -> str:
        """Name this run of the application among all applications of a Spark session."""
        return f"{self.id}-{self.generation}-{self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRequest:
    """One stage of one batch, for all slots. The same batch always has the same ranges."""

    batch: int
    stage: int
    slots: int
    clock_ms: int
    #: What to read in this stage, of real topics and of repartition topics.
    ranges: Mapping[TopicPartition, Range] = field(default_factory=dict)
    skips: Mapping[TopicPartition, Skips] = field(default_factory=dict)
    #: How far topics that serve as changelogs of their tables have been processed.
    table_positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: Whether the stage may have run before: then the batch log says which tasks are done.
    is_rerun: bool = False
    global_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: Dead letters of global records before these offsets were written by earlier batches.
    global_start: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: The driver's membership of the consumer group, with which offsets are committed.
    group: bytes | None = None
    #: By slot: the server that ran it last. Another one must not trust the state it holds.
    owners: Mapping[int, str] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    #: The whole batch, as the batch log keeps it.
    plan: bytes = b""

    @property
    def step(self) -> tuple[int, int]:
        return self.batch, self.stage


@dataclass(frozen=True, slots=True)
class Release:
    """Ask a slot to bring its state to disk and end; ``is_moved``: its folders are deleted."""

    is_moved: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """How far one store's changelog has been read back; ``position`` equals ``end`` when done."""

    store: str
    topic: str
    partition: int
    start: int
    end: int
    position: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a slot says about one task after one stage."""

    task: TaskId
    stage: int
    slot: int
    records: int = 0
    sent: int = 0
    logged: int = 0
    restores: tuple[Restore, ...] = ()
    seconds: float = 0.0
    clocks: Clocks | None = None
    dropped: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: Batches that a fault in the column path made run record at a time, by kind and place.
    column_errors: Mapping[str, int] = field(default_factory=dict)
    #: By topic: records that were consumed of it.
    consumed: Mapping[str, int] = field(default_factory=dict)
    #: By source topic: how old its records were when the task had processed them.
    ages: Mapping[str, Span] = field(default_factory=dict)
    has_requested_commit: bool = False
    #: Where the task goes on reading, committed with everything else.
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    skips: Mapping[TopicPartition, Skips] = field(default_factory=dict)
    #: The next offset of every repartition topic partition that the task wrote to.
    written: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: The next offset of every changelog of the task, after what it has committed.
    changelog_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: The task had committed this stage before: it did nothing, and what it wrote is not known.
    is_repeated: bool = False


class Endpoint(NamedTuple):
    """Where a slot server listens, and which process of which executor it is."""

    server: str
    host: str
    port: int
    executor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one Spark task hands back: the reports of its slot, or the error that it met."""

    slot: int
    endpoint: Endpoint | None = None
    reports: tuple[Report, ...] = ()
    error: BaseException | None = None
