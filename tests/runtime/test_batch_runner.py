"""The driver's batches, without Spark: calls of two threads that meet, and what runs again.

Exercises ``slot_release``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.driver import batch_runner, slot_release
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.threads import slot_watch
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.batch_log import BatchPlan, Cut, LogState
from penstock.runtime.spark.exchange.questions import CloseSlot, SlotId
from penstock.runtime.spark.exchange.stage_request import (
    Endpoint,
    Outcome,
    Release,
    Report,
    Restore,
    StageRequest,
)
from tests.unit.runtime.restore_calls import Heard

PLAN = BatchPlan(0, {("in", 0): 0}, {("in", 0): 1}, 0, {})


class Planner:
    """Plans one batch, when it may, and takes in what is learnt from it."""

    is_behind = True
    has_wall_clock = False
    has_leftover = False
    wants_batch = False

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_go_on = threading.Event()
        self.reached: dict[TopicPartition, int] = {}
        self.made_anew = MadeAnew()
        self._plans = [PLAN]

    def first(self) -> None:
        return None

    def next(self) -> BatchPlan | None:
        self.is_asked.set()
        assert self.may_go_on.wait(60)
        return self._plans.pop() if self._plans else None

    def advance(self, reached: Mapping[TopicPartition, int]) -> None:
        self.reached = dict(reached)

    def learn(self, *given: float) -> None: ...

    def held_back(self) -> dict[TopicPartition, int]:
        return {}


class Log:
    """The batch log of a driver that leads alone."""

    def __init__(self) -> None:
        self.state = LogState(generation=1, run_id="staged")
        self.renewed = 0
        self.finished: list[int] = []

    def begin(self, plan: BatchPlan) -> None:
        self.state.plan = plan

    def renew(self) -> None:
        self.renewed += 1

    def finish(self, batch: int) -> None:
        self.finished.append(batch)
        raise StreamsError("batch-log", "no answer in 5 s")

    def note_cut(self, cut: Cut) -> None:
        self.state.cut = cut

    def read(self) -> LogState:
        return LogState(generation=1, run_id="staged", plan=self.state.plan)


#: What a slot answers to a request.
Answer = Callable[[StageRequest], Outcome]


class Threads:
    """The stream threads of a session on one machine, as the placement sees them."""

    secret = b"secret"

    def __init__(self) -> None:
        self.context = self.sparkContext = self
        self._jsc: Any = None
        self.give_up: Callable[[str], object] = self._none
        self.gone: set[str] = set()
        self.vacated: list[int] = []

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {"spark.master": "local[1]"}

    @staticmethod
    def _none(server: str) -> None: ...

    def is_living(self, endpoint: Endpoint) -> bool:
        return endpoint.server not in self.gone

    def is_awake(self, server: str) -> bool:
        return False

    def vacate(self, seats: Any) -> None:
        self.vacated += [seat.number for seat in seats]


class Stages:
    """Stands for the stages of an application: a function says what its one slot answers."""

    pickled = b"application"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.is_cancelled = False

    def run(self, request: StageRequest) -> list[Outcome]:
        return [self._answer(request)]

    def cancel(self) -> None:
        self.is_cancelled = True

    def close(self) -> None: ...


@pytest.fixture
def staged() -> Iterator[StagedApplication]:
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    kafka = MemoryKafka()
    for topic in ("in", "out"):
        kafka.create(topic)
    config = {"application.id": "app", "retry.backoff.ms": 1, "commit.interval.ms": 10}
    application = StagedApplication(builder.build().graph, config, kafka)
    yield application
    application.close()


class Driver:
    """A batch runner in a thread of its own, over fakes of all that it needs."""

    def __init__(
        self, staged: StagedApplication, answer: Answer, *, slots: Mapping[int, str] | None = None
    ) -> None:
        self.planner, self.log, self.threads = Planner(), Log(), Threads()
        self.stages = Stages(answer)
        self.fenced = 0
        self.error: BaseException | None = None
        member = SimpleNamespace(check=lambda: None, metadata=lambda: b"", commit=lambda at: None)
        given = cast("Any", (self.threads, staged.application, self.log, None, member))
        # The threads are shared: those of one application close their slots when they end.
        placement = Placement(cast("Any", self.threads), "app", shares=True)
        for number, server in (slots or {}).items():
            placement.endpoints[number] = Endpoint(server, "host", 1, "1")
        rest = cast("Any", (1, self.planner, staged._internal, placement, self._fence))
        self.runner = BatchRunner(*given, *rest, lambda: None)
        self.runner._stages = cast("Any", self.stages)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _fence(self) -> None:
        self.fenced += 1

    def _run(self) -> None:
        try:
            self.runner.run()
        except StreamsError as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def done(request: StageRequest) -> Outcome:
    (work,) = request.ranges.items()
    report = Report(task=cast("Any", (0, 0)), stage=0, slot=0, positions={work[0]: work[1][1]})
    return Outcome(slot=0, reports=(report,))


def test_a_batch_that_is_planned_while_the_application_closes_does_not_begin(
    staged: StagedApplication,
) -> None:
    """Closing does not wait for it, and nothing of it is asked for."""
    driver = Driver(staged, done)
    assert driver.planner.is_asked.wait(60)
    assert driver.runner.stop(10)
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.runner.progress.batches == 0
    assert driver.log.state.plan is None


def test_a_batch_that_is_under_way_is_waited_for(staged: StagedApplication) -> None:
    """Its commit would otherwise be left to the next driver."""
    is_running, may_end = threading.Event(), threading.Event()

    def slow(request: StageRequest) -> Outcome:
        is_running.set()
        assert may_end.wait(60)
        return done(request)

    driver = Driver(staged, slow)
    driver.planner.may_go_on.set()
    assert is_running.wait(60)
    threading.Timer(0.2, may_end.set).start()
    assert driver.runner.stop(10)
    driver.join()
    assert driver.planner.reached == {("in", 0): 1}
    assert not driver.stages.is_cancelled


def test_a_batch_that_takes_too_long_is_cancelled(staged: StagedApplication) -> None:
    """Nothing is waited for any more; the next driver finishes the batch."""
    is_running, may_end = threading.Event(), threading.Event()

    def stuck(request: StageRequest) -> Outcome:
        is_running.set()
        assert may_end.wait(60)
        return Outcome(slot=0, error=StreamsError("worker-lost", "not waited for"))

    driver = Driver(staged, stuck)
    driver.planner.may_go_on.set()
    assert is_running.wait(60)
    assert not driver.runner.stop(0.1)
    may_end.set()
    driver.join()
    assert driver.stages.is_cancelled


def test_a_failure_that_passes_runs_the_same_batch_again(staged: StagedApplication) -> None:
    """Open transactions of the slots are ended first, and the log is read again."""
    asked: list[tuple[int, bool]] = []

    def failing_twice(request: StageRequest) -> Outcome:
        asked.append((request.batch, request.is_rerun))
        if len(asked) < 3:
            return Outcome(slot=0, error=StreamsError("worker-lost", "it is gone"))
        driver.runner.stop(0)
        return done(request)

    driver = Driver(staged, failing_twice)
    driver.planner.may_go_on.set()
    driver.join()
    assert asked == [(0, False), (0, True), (0, True)]
    assert (driver.fenced, driver.log.renewed) == (2, 2)
    progress = driver.runner.progress
    assert (progress.batches, progress.reruns, progress.waiting_for) == (1, 2, None)


class Clock:
    """The time that the driver sees; it goes on only when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(batch_runner, "time", made)
    return made


#: More than ``task.timeout.ms``.
LONG_S = 301.0


@pytest.mark.parametrize("first", ["worker-lost", "broker-away"])
def test_only_failures_that_last_are_given_up(
    staged: StagedApplication, clock: Clock, first: str
) -> None:
    """A batch that took long before it failed, or that waited for Kafka, is not at its limit."""
    codes = [first, "client-renewed"]

    def failing(request: StageRequest) -> Outcome:
        if first == "broker-away" or len(codes) == 2:
            clock.now_s += LONG_S
        if codes:
            return Outcome(slot=0, error=StreamsError(codes.pop(0), "it is away"))
        driver.runner.stop(0)
        return done(request)

    driver = Driver(staged, failing)
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.error is None
    assert driver.runner.progress.reruns == 2


def test_a_failure_that_lasts_is_for_the_handler(staged: StagedApplication, clock: Clock) -> None:
    """Otherwise an application that cannot go on would look healthy for ever."""
    lost = StreamsError("worker-lost", "it is gone")

    def failing(request: StageRequest) -> Outcome:
        clock.now_s += LONG_S / 3
        return Outcome(slot=0, error=lost)

    driver = Driver(staged, failing)
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.error is lost
    assert driver.runner.progress.reruns == 3


def test_a_failure_of_the_users_program_ends_the_batches(staged: StagedApplication) -> None:
    """Running it again would only fail again; the handler decides."""
    wrong = StreamsError("processing", "node 'map' failed")
    driver = Driver(staged, lambda request: Outcome(slot=0, error=wrong))
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.error is wrong
    assert wrong.__cause__ is None
    assert driver.fenced == 0


def test_faults_of_the_column_path_are_counted_for_the_metrics(staged: StagedApplication) -> None:
    """What slots report about them adds up over tasks and batches."""

    def faulty(request: StageRequest) -> Outcome:
        driver.runner.stop(0)
        (report,) = done(request).reports
        reports = [replace(report, slot=slot, column_errors={"IndexError": 1}) for slot in (0, 1)]
        return Outcome(slot=0, reports=tuple(reports))

    driver = Driver(staged, faulty)
    driver.planner.may_go_on.set()
    driver.join()
    assert dict(driver.runner.progress.column_errors) == {"IndexError": 2}


def test_threads_are_asked_during_a_long_commit_interval(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a paused thread, or a stopped session, would be noticed only with input."""
    monkeypatch.setattr(batch_runner, "_LOOK_S", 0.01)
    driver = Driver(staged, done)
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) == 3:
            driver.runner.stop(0)

    monkeypatch.setattr(driver.runner, "_look_around", look)
    driver.planner.is_behind = False
    driver.runner._interval_s = 600.0
    driver.planner.may_go_on.set()
    driver.join()
    assert (driver.runner.progress.batches, len(looks)) == (1, 3)


def test_a_batch_that_kafka_does_not_take_in_time_runs_again_with_less(
    staged: StagedApplication,
) -> None:
    """With a quota, a rerun of the same size would never be committed, however often it runs."""
    asked: list[int] = []

    def answer(request: StageRequest) -> Outcome:
        asked.append(request.limits.bytes)
        if len(asked) == 1:
            return Outcome(slot=0, error=StreamsError("worker-lost", "its process is gone"))
        if len(asked) < 13:
            return Outcome(slot=0, error=StreamsError("broker-away", "not taken within 30 s"))
        driver.runner.stop(0)
        return done(request)

    driver = Driver(staged, answer)
    driver.planner.may_go_on.set()
    driver.join()
    assert asked[0] == asked[1]
    assert asked[2] == asked[1] // 4
    assert asked[-1] == 64 * 1024
    assert driver.runner._limits.bytes == 4 * 64 * 1024


def test_slots_are_asked_while_a_function_of_to_spark_runs(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs on the thread of the batches; a slot that nobody asks for two minutes ends."""
    asked = threading.Semaphore(0)
    monkeypatch.setattr(slot_watch, "_LOOK_S", 0.01)
    monkeypatch.setattr(slot_watch, "ask", lambda *given, **_: asked.release() or [])

    def function(batch: int, reports: Any) -> None:
        for _ in range(3):
            assert asked.acquire(timeout=60)
        driver.runner.stop(0)

    driver = Driver(staged, done)
    monkeypatch.setattr(driver.runner._sinks, "call", function)
    driver.runner.placement.endpoints[0] = Endpoint("server", "127.0.0.1", 1, "driver")
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.runner.progress.batches == 1


def test_threads_that_are_added_during_a_batch_wait_for_the_next(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot that the batch log does not name yet would not be fenced by the next driver."""
    asked: list[int] = []

    def more_threads(name: str, about: Any) -> None:
        if name == "planned":
            driver.runner.slots = 3

    def answer(request: StageRequest) -> Outcome:
        asked.append(request.slots)
        driver.runner.stop(0)
        return done(request)

    monkeypatch.setattr(batch_runner, "fault_point", more_threads)
    driver = Driver(staged, answer)
    driver.planner.may_go_on.set()
    driver.join()
    assert asked == [1]
    assert driver.runner.used_slots == 1


def test_a_slot_that_hangs_does_not_keep_the_driver_from_closing(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its server is alive, so the answer may come; all slots are asked at once."""
    asked: list[str] = []
    may_end = threading.Event()

    def hanging(endpoint: Endpoint, secret: bytes, question: CloseSlot) -> None:
        assert question.release == Release()
        asked.append(endpoint.server)
        assert may_end.wait(60)

    monkeypatch.setattr(slot_release, "ask", hanging)
    monkeypatch.setattr(slot_release, "_PATIENCE_S", 0.1)
    driver = Driver(staged, done, slots={0: "thread-0", 1: "thread-1", 2: "thread-2"})
    runner = driver.runner
    assert runner.stop(10)
    runner.close(is_clean=False, keeps_slots=False)
    assert sorted(asked) == ["thread-0", "thread-1", "thread-2"]
    assert runner.placement.endpoints == {}
    assert driver.threads.vacated == [0, 1, 2]
    may_end.set()


def test_slots_are_released_although_the_batch_log_cannot_be_written(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they keep their folders open, in threads that other applications share."""
    asked: list[Any] = []
    monkeypatch.setattr(slot_release, "ask", lambda *given: asked.append(given))
    driver = Driver(staged, done, slots={0: "thread"})
    driver.log.state.plan, driver.log.state.complete = PLAN, PLAN.batch
    assert driver.runner.stop(10)
    driver.runner.close(is_clean=True, keeps_slots=False)
    assert driver.log.finished == [PLAN.batch]
    (given,) = asked
    question = CloseSlot(SlotId(staged.application.key, 0), Release())
    assert given == (Endpoint("thread", "host", 1, "1"), b"secret", question)


def test_the_restore_listener_hears_of_every_store_that_was_read_back(
    staged: StagedApplication,
) -> None:
    """In the order of Kafka Streams: where it starts and ends, how far it is, how much it was."""
    restore = Restore("counts", "app-counts-changelog", 0, start=3, end=9, position=9, records=5)

    def restored(request: StageRequest) -> Outcome:
        driver.runner.stop(0)
        (report,) = done(request).reports
        return Outcome(slot=0, reports=(replace(report, restores=(restore,)),))

    driver = Driver(staged, restored)
    driver.runner.restores.listener = heard = Heard()
    driver.planner.may_go_on.set()
    driver.join()
    part = ("app-counts-changelog", 0)
    assert heard.calls == [
        ("start", part, "counts", 3, 9),
        ("batch", part, "counts", 9, 5),
        ("end", part, "counts", 5),
    ]
    assert driver.runner.progress.restored == 5


def test_a_thread_that_is_lost_lets_the_next_batch_begin_at_once(
    staged: StagedApplication,
) -> None:
    """Its slot restores its state elsewhere, also if there is no input for it."""
    driver = Driver(staged, done, slots={0: "here", 1: "gone"})
    driver.threads.gone = {"gone"}
    driver.runner._notice_lost()
    assert driver.planner.wants_batch
    assert driver.runner._is_first
    assert set(driver.runner.placement.endpoints) == {0}
    assert driver.threads.vacated == [1]
    assert driver.runner.stop(10)


def test_a_session_that_was_stopped_ends_the_application(staged: StagedApplication) -> None:
    """Its stream threads are gone for good."""
    driver = Driver(staged, done)
    scala = SimpleNamespace(isStopped=lambda: True)
    driver.threads._jsc = SimpleNamespace(sc=lambda: scala)
    with pytest.raises(StreamsError) as raised:
        driver.runner._look_around()
    assert raised.value.code == "spark-lost"
    assert driver.runner.stop(10)
