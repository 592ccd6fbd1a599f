"""A driver that leads, with real slots and topics in memory; Spark and its threads are fakes."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.errors import PenstockError, StreamsError
from penstock.runtime.local.memory_clients import InjectedFaultError, MemoryAdmin
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.driver import batch_runner
from penstock.runtime.spark.driver.batch_runner import BatchRunner, Lead
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.batch_log import Cut, LogState
from penstock.runtime.spark.exchange.stage_request import Endpoint, Report, StageRequest
from tests.runtime.slot_programs import Program, counting, counts

Answer = Callable[[int, StageRequest], list[Report]]
LONG_S = 30.0


class Log:
    """The batch log of a driver that leads alone."""

    def __init__(self) -> None:
        self.state = LogState(generation=1, run_id="staged")
        self.cuts: list[Cut] = []
        self.slots: list[int] = []

    def note_cut(self, cut: Cut) -> None:
        self.cuts.append(cut)

    def note_slots(self, slots: int) -> None:
        self.slots.append(slots)

    def note_topics(self, ids: Any) -> None: ...


class Threads:
    """The stream threads of a session on one machine, as the placement sees them."""

    secret = b"secret"

    def __init__(self) -> None:
        self.context = self.sparkContext = self
        self.is_stopped = False
        scala = SimpleNamespace(isStopped=lambda: self.is_stopped)
        self._jsc = SimpleNamespace(sc=lambda: scala)
        self.gone: set[str] = set()
        self.vacated: list[int] = []

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {"spark.master": "local[1]"}

    def give_up(self, server: str) -> None: ...

    def is_living(self, endpoint: Endpoint) -> bool:
        return endpoint.server not in self.gone

    def is_awake(self, server: str) -> bool:
        return False

    def candidates(self, seat: Any) -> list[Endpoint]:
        return [Endpoint("thread", "host", 1, "1")]

    def load(self) -> Counter[str]:
        return Counter()

    def seat(self, seat: Any, endpoint: Endpoint) -> None: ...

    def vacate(self, seats: Any) -> None:
        self.vacated += [seat.number for seat in seats]

    def wait_for(self, *given: Any) -> None: ...


class Stages:
    """Brings requests to the slots in memory, or to a function of the test."""

    pickled = b"application"

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.is_cancelled = threading.Event()

    def warm_up(self, slot: int, request: StageRequest) -> None:
        self._driver.place(slot)

    def run(self, slot: int, request: StageRequest) -> list[Report]:
        self._driver.place(slot)
        with self._driver.changed:
            self._driver.asked.append((slot, request))
            self._driver.changed.notify_all()
        return self._driver.answer(slot, request)

    def cancel(self) -> None:
        self.is_cancelled.set()

    def close(self) -> None: ...


class Driver:
    """A batch runner in a thread of its own.

    Args:
        program: the topology; it reads ``in``.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        program: Program = counting,
        *,
        partitions: int = 2,
        slots: int = 2,
        **config: Any,
    ) -> None:
        self.kafka = MemoryKafka(partitions)
        for topic in ("in", "out"):
            self.kafka.create(topic)
        builder = ps.StreamsBuilder()
        program(builder)
        settings = {
            "application.id": "app", "retry.backoff.ms": 1, "commit.interval.ms": 1, **config,
        }  # fmt: skip
        self.staged = StagedApplication(builder.build().graph, settings, self.kafka, slots=slots)
        self.log, self.threads = Log(), Threads()
        #: What slots do with requests; the standard is that real ones run them.
        self.answer: Answer = self.processed
        self.asked: list[tuple[int, StageRequest]] = []
        self.changed = threading.Condition()
        self.failed: list[PenstockError] = []
        self.decides = True
        self.error: BaseException | None = None
        self.restored = 0
        self.topics_checked: Callable[[], None] = lambda: None
        self.check: Callable[[], None] = lambda: None
        self._working = threading.Lock()
        self.is_over = False
        # The threads are shared: those of one application close their slots when they end.
        self.placement = Placement(cast("Any", self.threads), "app", shares=True)
        self.stages = Stages(self)
        monkeypatch.setattr(batch_runner, "Stages", lambda *given, **_: self.stages)
        monkeypatch.setattr(batch_runner, "_TURN_S", 0.002)
        monkeypatch.setattr(batch_runner, "release_slots", self._release)
        self.runner = BatchRunner(cast("Any", self.threads), self._lead(), slots)
        self.runner.decide = self._decide
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _lead(self) -> Lead:
        admin = cast("Any", MemoryAdmin(self.kafka))
        member = SimpleNamespace(
            check=lambda: self.check(), metadata=lambda: b"", commit=lambda at: None
        )
        parts = range(self.staged.plan.partitions["in"])
        return Lead(
            application=self.staged.application, log=cast("Any", self.log), admin=admin,
            offsets=admin, member=cast("Any", member), placement=self.placement,
            positions={("in", number): 0 for number in parts}, internal=self.staged._internal,
            anew=MadeAnew(), read_committed=True, fence=self.fence,
            check_topics=lambda: self.topics_checked(),
        )  # fmt: skip

    # What the runner calls

    def _decide(self, error: PenstockError) -> bool:
        self.failed.append(error)
        return self.decides

    def fence(self, slot: int) -> None:
        self.kafka.new_epoch(slot)

    def place(self, slot: int) -> None:
        self.placement.endpoints.setdefault(slot, Endpoint(f"thread-{slot}", "host", 1, "1"))

    def _release(self, endpoints: dict[int, Endpoint], *given: Any) -> None:
        """Close slots in memory; their state stays on the disk."""
        with self._working:
            for number in endpoints:
                self.end_slot(number)

    def end_slot(self, number: int) -> None:
        """Let the process of a slot end: all that it has in memory is gone."""
        slot = self.staged._slots.pop(number, None)
        for state in [] if slot is None else slot.tasks.values():
            state.databases.lock.release()

    def processed(self, slot: int, request: StageRequest) -> list[Report]:
        """Let a real slot run the request. In memory only one works at a time."""
        with self._working:
            if self.is_over:
                raise StreamsError("worker-lost", "the test is over")
            self.staged.slots = request.slots
            try:
                return self.staged._slot(slot).run(request)
            except InjectedFaultError as error:
                raise StreamsError("write-failed", str(error)) from error

    # What tests do

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Lead inside the ``with`` block, then end; raise nothing of the runner."""
        self._thread.start()
        try:
            yield
        finally:
            self.runner.stop(LONG_S)
            self.join()
            self.runner.close(keeps_slots=True)
            with self._working:
                # A lane whose runner has failed may still ask.
                self.is_over = True
                self.staged.close()

    def _run(self) -> None:
        try:
            self.runner.run(is_restored=self._is_restored)
        except StreamsError as error:
            self.error = error

    def _is_restored(self) -> None:
        self.restored += 1

    def join(self) -> None:
        self._thread.join(LONG_S)
        assert not self._thread.is_alive()

    def send(self, *numbers: int) -> None:
        """Add a record to each of these partitions; its key has their number."""
        with self._working:
            for number in numbers:
                self.kafka.append("in", b"k%d" % number, b"a b", 0, partition=number)

    def wait_for(self, is_true: Callable[[], object]) -> None:
        with self.changed:
            for _ in range(6_000):
                if is_true():
                    return
                self.changed.wait(0.005)
        raise AssertionError("it has not happened in 30 s")

    def is_done(self, *partitions: int) -> bool:
        """Tell whether all records of these partitions are processed."""
        position = self.runner.progress.position
        ends = self.kafka.ends({"in": self.staged.plan.partitions["in"]})
        return all(position.get(("in", n), 0) == ends["in", n] for n in partitions)

    def counts(self) -> Counter[str]:
        with self._working:
            return counts(self.staged)
