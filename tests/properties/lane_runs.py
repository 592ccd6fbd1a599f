"""Runs lanes over real slots and topics in memory, in any order that a test wants.

Each lane has a thread, and only one of them works at a time: up to the next request to its slot, up
to the answer, or up to the end of its batch.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from penstock import ValueAndTimestamp
from penstock.errors import PenstockError, StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.memory_clients import InjectedFaultError, MemoryAdmin
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.gate import Gate, Turn
from penstock.runtime.spark.driver.lanes.lane import Lane
from penstock.runtime.spark.driver.lanes.lane_inputs import InputSettings
from penstock.runtime.spark.driver.lanes.shared import Numbers, Pace, Shared
from penstock.runtime.spark.driver.lanes.stops import Stops
from penstock.runtime.spark.exchange.stage_request import (
    NO_LIMITS,
    Limits,
    Release,
    Report,
    StageRequest,
)
from tests.properties.topologies import Build

_LONG_S = 30.0
#: With a cache, what a key sends depends on where batches end.
CONFIG = {"application.id": "app", "statestore.cache.max.bytes": 0}

#: A record of ``in``: its key, value and timestamp.
Event = tuple[bytes, bytes, int]


class NoWaiting(Gate):
    """Lanes wait for nobody: a test decides who comes first."""

    def enter(self, lane: int, stage: int, took_s: float) -> None:
        return None


class _Stopped(BaseException):
    """Ends the thread of a lane whose driver is gone."""


class Stepper:
    """The thread of one lane; ``step`` lets it work for a moment."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        #: Whether the lane is between two batches.
        self.is_idle = True
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_over = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self) -> None:
        self._go.release()
        assert self._back.acquire(timeout=_LONG_S)
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Called in the thread: let others work first."""
        self._back.release()
        self._go.acquire()
        if self._is_over:
            raise _Stopped

    def end(self) -> None:
        """Stop wherever it is, as a killed driver does."""
        self._is_over = True
        self._go.release()
        self._thread.join(_LONG_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        self._go.acquire()
        with contextlib.suppress(_Stopped):
            while not self._is_over:
                self.is_idle = False
                try:
                    self.lane._take(Turn.ANY)
                except Exception as error:  # noqa: BLE001 - the test fails with it
                    self._error = error
                self.is_idle = True
                self.pause()


class LaneRun:
    """An application whose lanes go on step by step.

    Args:
        slots: how many slots, and lanes, share the tasks at first.
        limits: when a slot ends a stage early.
    """

    def __init__(
        self, build: Build, events: Sequence[Event], *, slots: int, limits: Limits = NO_LIMITS
    ) -> None:
        self.kafka = new_kafka(build)
        self._events = list(events)
        self._limits = limits
        self.application = StagedApplication(build().graph, CONFIG, self.kafka, slots=slots)
        self._steppers: list[Stepper] = []
        self._fault: str | None = None
        self.kafka.fault = self._next_fault
        self.lead()

    def _next_fault(self, number: int) -> str | None:
        fault, self._fault = self._fault, None
        return fault

    # What a test lets happen

    def feed(self, count: int) -> None:
        for key, value, time_ms in self._events[:count]:
            self.kafka.append("in", key, value, time_ms)
        del self._events[:count]

    def step(self, number: int) -> None:
        """Let one of the lanes go on for a moment."""
        self._steppers[number % len(self._steppers)].step()

    def fail(self, when: str) -> None:
        """Let the next commit fail: before or after it has its effect."""
        self._fault = when

    def kill_slot(self, number: int, *, lose_state: bool) -> None:
        """End the process of a slot; another one begins with the next request."""
        number %= self.application.slots
        slot = self.application._slots.pop(number, None)
        for state in () if slot is None else slot.tasks.values():
            state.databases.lock.release()
            if lose_state:
                state.discard()
        # The driver notices it a moment later.
        self._steppers[number].lane.renew()

    def kill_driver(self, slots: int) -> None:
        """Let another driver lead, wherever the lanes are; its slots are new ones."""
        self._end_lanes()
        for number in range(8):
            self.kafka.new_epoch(number)
        self.application.crash()
        self.application.slots = slots
        self.lead()

    def change_slots(self, slots: int) -> None:
        """Use another number of slots, if the lanes are between batches now."""
        if all(each.is_idle and not each.lane.is_unknown for each in self._steppers):
            self._end_lanes()
            for slot in self.application._slots.values():
                slot.close(Release())
            self.application._slots.clear()
            self.application.slots = slots
            self._begin_lanes()

    # The driver

    def lead(self) -> None:
        state = self.application._clients.batch_log()
        self.application._internal = self.application._internal_positions()
        group = self.kafka.group
        count = self.application.plan.partitions["in"]
        self.positions = {("in", n): group.get(("in", n), 0) for n in range(count)}
        self._numbers = Numbers(state.newest_batch)
        self._accounts = Accounts(
            self.application.application, state, self.positions, self.application._internal,
            MadeAnew(),
        )  # fmt: skip
        self._begin_lanes()

    def _begin_lanes(self) -> None:
        shared, slots = self._shared(), self.application.slots
        self._steppers = [Stepper(Lane(number, slots, shared)) for number in range(slots)]

    def _end_lanes(self) -> None:
        for each in self._steppers:
            each.end()

    def _shared(self) -> Shared:
        admin, gate = cast("Any", MemoryAdmin(self.kafka)), NoWaiting()
        ends = SimpleNamespace(fresh=lambda: self.kafka.ends({"in": len(self.positions)}))
        watch = SimpleNamespace(over_stage=lambda slot, request: contextlib.nullcontext())
        return Shared(
            application=self.application.application,
            pace=Pace(interval_s=0.0, backoff_s=0.0, task_timeout_s=1e9, limits=self._limits),
            gate=gate,
            stops=Stops(self.positions, gate.changed),
            ends=cast("Any", ends),
            offsets=admin,
            inputs=InputSettings(max_records=4, read_committed=True),
            positions=self.positions,
            internal=self.application._internal,
            tables=frozenset(),
            accounts=self._accounts,
            asking=cast("Any", self),
            owners=SimpleNamespace(owners=dict),
            member=cast("Any", SimpleNamespace(check=lambda: None, metadata=lambda: None)),
            watch=cast("Any", watch),
            numbers=self._numbers,
            fence=lambda slot: cast("None", self.kafka.new_epoch(slot)),
            report=_raise,
            committed=lambda is_new: None,
            troubled=lambda: None,
            seconds_left=lambda: 1e9,
            newest_cut=lambda: -1,
            is_paused=threading.Event(),
            closing=threading.Event(),
        )

    def run(self, slot: int, request: StageRequest) -> list[Report]:
        """Ask a slot; other lanes may go on before it begins, and before its answer arrives."""
        stepper = self._steppers[slot]
        stepper.pause()
        try:
            reports = self.application._slot(slot).run(request)
        except InjectedFaultError as error:
            raise StreamsError("write-failed", str(error)) from error
        stepper.pause()
        return reports

    # The end

    def finish(self) -> None:
        """Let all lanes go on in turn until nothing is left to do."""
        self.feed(len(self._events))
        for _ in range(10_000):
            for number in range(len(self._steppers)):
                self.step(number)
            if self._is_done():
                self._end_lanes()
                return
        raise AssertionError("the lanes do not come to an end")

    def _is_done(self) -> bool:
        ends = self.kafka.ends({"in": len(self.positions)})
        return (
            self.positions == ends
            and not self.application._internal.has_leftover()
            and all(each.is_idle and each.lane.has_run for each in self._steppers)
            and not any(each.lane.is_unknown or each.lane._new for each in self._steppers)
        )

    def close(self) -> None:
        self._end_lanes()
        self.application.close()


def _raise(lane: int | None, error: PenstockError) -> None:
    raise error


def new_kafka(build: Build, partitions: int = 3) -> MemoryKafka:
    kafka = MemoryKafka(partitions)
    for topic in ("in", "out"):
        kafka.create(topic)
    return kafka


def one_batch(build: Build, events: Sequence[Event]) -> StagedApplication:
    """Run all events in one batch of one slot."""
    kafka = new_kafka(build)
    for key, value, time_ms in events:
        kafka.append("in", key, value, time_ms)
    application = StagedApplication(build().graph, CONFIG, kafka)
    application.run_batch(0)
    # The ends of transactions look like records until a batch has looked at them.
    while application.has_waiting():
        application.run_batch(0)
    return application


def stores_of(application: StagedApplication) -> dict[str, dict[Any, Any]]:
    """Return the rows of all stores, without their times: these depend on who came first."""
    found: dict[str, dict[Any, Any]] = {}
    for name, parts in application.stores().items():
        rows = found.setdefault(name, {})
        for part in parts:
            for key, value in part.all():
                rows[key] = value.value if isinstance(value, ValueAndTimestamp) else value
    return found


def outputs_of(kafka: MemoryKafka) -> Mapping[bytes | None, list[bytes | None]]:
    """Return the values of each key in the output topic, in order."""
    found: dict[bytes | None, list[bytes | None]] = {}
    for record in kafka.committed:
        if record.topic == "out":
            found.setdefault(record.key, []).append(record.value)
    return found


def committed_offsets(kafka: MemoryKafka) -> Mapping[TopicPartition, int]:
    return {part: at for part, at in kafka.group.items() if part[0] == "in"}
