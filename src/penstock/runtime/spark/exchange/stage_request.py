"""Requests of the driver to a slot, and the slot's answers: plain values that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.kernel.clocks import Clocks
from penstock.model.recent import Span
from penstock.model.remedies import declared
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.work import NONE, Work

Range = tuple[int, int]
#: By offset of a bundle that is processed only in part: how many of its records are.
Skips = Mapping[int, int]


class Limits(NamedTuple):
    """How much one slot may process in one stage; at a limit it commits what is processed."""

    bytes: int
    seconds: float

    def at_first(self) -> Limits:
        """Return the limits of a first batch: nobody knows yet how fast its results are taken."""
        return self._replace(bytes=min(self.bytes, _FIRST_BYTES))

    def after_failure(self, error: BaseException) -> Limits:
        """Return smaller limits if a stage could not write its results in time.

        The rerun of a batch that is as large as before would fail again, and what a quota lets
        through would be spent on records that are aborted.
        """
        return self._smaller() if declared(error).is_slow_commit else self

    def after_success(self, most: Limits, seconds: float) -> Limits:
        """Return larger limits after a short batch, up to ``most``, smaller after a long one."""
        if seconds > _LONG_S:
            return self._smaller()
        return (
            self if seconds > _SHORT_S else self._replace(bytes=min(self.bytes * _STEP, most.bytes))
        )

    def _smaller(self) -> Limits:
        return self._replace(bytes=max(self.bytes // _STEP, min(self.bytes, _FEWEST_BYTES)))


_STEP, _FEWEST_BYTES, _FIRST_BYTES = 4, 64 * 1024, 4 * 1024 * 1024
#: Batches that take less time may be larger; those that take more become smaller.
_SHORT_S, _LONG_S = 2.0, 8.0
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
    admin: Mapping[str, Any]
    #: Each driver that begins to lead takes the next number. Slots of a smaller generation must
    #: not write any more.
    generation: int
    #: Distinguishes two drivers with the same generation. That happens if the batch log was
    #: deleted and created again.
    run_id: str
    batches_topic: str
    #: The driver's levels of logging, so that workers log the same.
    log_levels: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Return a name for this run that is unique among all applications of a Spark session."""
        return f"{self.id}-{self.generation}-{self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRequest:
    """A request to a slot to run one stage of one of its batches.

    A slot runs its batches by itself, beside other slots. Numbers of batches grow over all slots
    of an application, so a later batch of a task always has a larger number.
    """

    batch: int
    stage: int
    slots: int
    clock_ms: int
    #: The offsets to read in this stage, of source topics and of repartition topics. A task runs
    #: only if one of its partitions is among them.
    ranges: Mapping[TopicPartition, Range] = field(default_factory=dict)
    #: Whether records of source topics behind these ranges are welcome, if they are there already.
    may_read_on: bool = False
    skips: Mapping[TopicPartition, Skips] = field(default_factory=dict)
    #: For source topics that serve as changelogs of tables: the next offset to process.
    table_positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: Whether the stage may have run before. Then the batch log says which tasks are done.
    is_rerun: bool = False
    #: Whether the tasks run and commit also without input: the first commit of a task says where
    #: it begins, and may start its schedules.
    is_first: bool = False
    #: Whether records of repartition topics may be on their way between tasks.
    has_leftover: bool = False
    global_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: Dead letters of global records before these offsets were written by earlier batches.
    global_start: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: The driver's membership in the consumer group; slots commit offsets with it.
    group: bytes | None = None
    #: By slot: the server that ran it last. The state in any other server is outdated.
    owners: Mapping[int, str] = field(default_factory=dict)
    limits: Limits = NO_LIMITS

    @property
    def step(self) -> tuple[int, int]:
        return self.batch, self.stage


@dataclass(frozen=True, slots=True)
class Release:
    """A request to a slot to write its state to disk and end.

    If ``is_moved``, another executor takes the slot over, and the slot's folders are deleted.
    """

    is_moved: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """The progress of restoring one store; ``position`` equals ``end`` when it is complete."""

    store: str
    topic: str
    partition: int
    start: int
    end: int
    position: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A slot's report about one task after one stage."""

    task: TaskId
    stage: int
    slot: int
    records: int = 0
    sent: int = 0
    logged: int = 0
    #: What Spark's pages show of it.
    work: Work = NONE
    restores: tuple[Restore, ...] = ()
    seconds: float = 0.0
    clocks: Clocks | None = None
    dropped: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: How many batches ran record at a time because the column path failed, by kind and place.
    column_errors: Mapping[str, int] = field(default_factory=dict)
    #: By topic: how many of its records were consumed.
    consumed: Mapping[str, int] = field(default_factory=dict)
    #: By source topic: how old its records were when the task had processed them.
    ages: Mapping[str, Span] = field(default_factory=dict)
    has_requested_commit: bool = False
    #: The offsets at which the task continues reading; part of the same transaction.
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    skips: Mapping[TopicPartition, Skips] = field(default_factory=dict)
    #: The next offset of every repartition topic partition that the task wrote to.
    written: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: The next offset of every changelog of the task after its commit.
    changelog_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: Whether the task had committed this stage before. Then it did not run again, and ``written``
    #: is empty.
    is_repeated: bool = False
    #: Whether the stores of the task are still being restored. Then it processed nothing now.
    is_waiting: bool = False
    #: Partitions from which no record came in time, although some are there. Their broker may be
    #: away. The task processed nothing of them.
    stuck: frozenset[TopicPartition] = frozenset()


class Endpoint(NamedTuple):
    """The address of a stream thread, its name and its executor."""

    server: str
    host: str
    port: int
    executor: str
