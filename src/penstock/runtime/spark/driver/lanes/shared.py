"""What the lanes of one application have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.errors import PenstockError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.ends import EndsWatch
from penstock.runtime.spark.driver.lanes.gate import Gate
from penstock.runtime.spark.driver.lanes.lane_inputs import InputSettings
from penstock.runtime.spark.driver.lanes.stops import Stops
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.driver.threads.slot_watch import SlotWatch
from penstock.runtime.spark.exchange.stage_request import (
    Application,
    Limits,
    Report,
    StageRequest,
)


class Member(Protocol):
    """The driver as a member of the application's group."""

    def check(self) -> None: ...

    def metadata(self) -> bytes: ...

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None: ...


class Asking(Protocol):
    """Asks the stream thread of a slot."""

    def warm_up(self, slot: int, request: StageRequest) -> None: ...

    def run(self, slot: int, request: StageRequest) -> list[Report]: ...


class Owners(Protocol):
    """Knows which thread ran each slot last."""

    def owners(self) -> dict[int, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often lanes commit, and how long they go on after failures."""

    interval_s: float
    backoff_s: float
    task_timeout_s: float
    limits: Limits


@dataclass(slots=True)
class Numbers:
    """Gives every batch of an application a number of its own; a later one is larger."""

    newest: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> int:
        with self._lock:
            self.newest += 1
            return self.newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Everything that a lane uses besides what is its own.

    ``gate.changed`` guards the positions and the accounts.
    """

    application: Application
    pace: Pace
    gate: Gate
    ends: EndsWatch
    #: Up to where lanes may read.
    stops: Stops
    offsets: Offsets
    inputs: InputSettings
    positions: dict[TopicPartition, int]
    internal: InternalPositions
    tables: frozenset[TopicPartition]
    accounts: Accounts
    asking: Asking
    owners: Owners
    member: Member
    watch: SlotWatch
    numbers: Numbers
    #: Aborts the open transaction of one slot.
    fence: Callable[[int], None]
    #: Asks the user what to do about an error of a lane, or ends the application with it; without
    #: the number of a lane, the application begins again or ends.
    report: Callable[[int | None, PenstockError], None]
    #: Called when a lane has ended a turn, with whether it has committed something.
    committed: Callable[[bool], None]
    #: Called when the trouble of a lane has changed.
    troubled: Callable[[], None]
    #: How long a batch may take before the next cut of all lanes.
    seconds_left: Callable[[], float]
    #: Returns the number of the newest cut of this run; -1 before the first.
    newest_cut: Callable[[], int]
    is_paused: threading.Event
    closing: threading.Event
