"""What the driver tells the workers: the application once, an order per stage of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.plan import Plan

Part = tuple[str, int]
Range = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything about an application that does not change while it runs."""

    id: str
    plan: Plan
    config: Mapping[str, Any]
    state_dir: str
    exactly_once: bool
    consumer: Mapping[str, Any]
    producer: Mapping[str, Any]
    #: Marks one life of the application; a worker that sees a new one starts over.
    epoch: str
    batches_topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRequest:
    """One stage of one batch. A replay gets the same order, but for what is done already."""

    batch: int
    stage: int
    slots: int
    clock_ms: int
    ranges: Mapping[Part, Range] = field(default_factory=dict)
    clocks: Mapping[TaskId, Clocks] = field(default_factory=dict)
    #: Tasks whose writes of this stage are committed already: they only recompute.
    done: frozenset[TaskId] = frozenset()
    global_ends: Mapping[Part, int] = field(default_factory=dict)
    group: Any = None
    #: Which worker had each slot last; another one must fence it before it writes.
    owners: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Make the slot and its clients; ``first`` tells how the first batch will begin, if known.

    Its ranges need not end where those of the batch will.
    """

    first: StageRequest | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Let the slot go. ``complete`` is the last batch that will not run again."""

    complete: int


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


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says about one task after one stage."""

    task: TaskId
    stage: int
    slot: int
    owner: str
    records: int
    sent: int
    logged: int
    restores: tuple[Restore, ...]
    seconds: float
    clocks: Clocks
    dropped: Mapping[tuple[str, str], int]
    has_wall_clock: bool
