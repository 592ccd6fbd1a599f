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
from penstock.runtime.spark.driver.executors import slot_watch
from penstock.runtime.spark.driver.placement import Placement
from penstock.runtime.spark.exchange.batch_log import BatchPlan, Cut, LogState
from penstock.runtime.spark.exchange.stage_request import Endpoint, Outcome, Report, Restore
from penstock.runtime.spark.worker.slot_task import SlotTask
from tests.unit.runtime.restore_calls import Heard

PLAN = BatchPlan(0, {("in", 0): 0}, {("in", 0): 1}, 0, {})


class Planner:
    """Plans one batch, when it may, and takes in what is learnt from it."""

    is_behind = True
    has_wall_clock = False
    has_leftover = False

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


class Spark:
    """Runs the tasks of a job here, in place of their slots: a function says what they answer."""

    def __init__(self, answer: Callable[[SlotTask], Outcome]) -> None:
        self._answer = answer
        self.sparkContext = self
        self.cancelled: list[str] = []

    def broadcast(self, value: bytes) -> Any:
        return SimpleNamespace(value=value)

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {"spark.master": "local[1]"}

    def setJobGroup(self, group: str, title: str) -> None: ...  # noqa: N802 - Spark's name

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.cancelled.append(group)

    def parallelize(self, numbers: range, slices: int) -> Any:
        return SimpleNamespace(mapPartitions=self._job)

    def _job(self, task: SlotTask) -> Any:
        return SimpleNamespace(collect=lambda: [self._answer(task)])


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
        self, staged: StagedApplication, answer: Callable[[SlotTask], Outcome], **config: Any
    ) -> None:
        self.planner, self.log, self.spark = Planner(), Log(), Spark(answer)
        self.fenced = 0
        self.error: BaseException | None = None
        member = SimpleNamespace(check=lambda: None, metadata=lambda: b"", commit=lambda at: None)
        given = cast("Any", (self.spark, staged.application, self.log, None, member))
        placement = Placement(cast("Any", self.spark.sparkContext))
        rest = cast("Any", (1, self.planner, staged._internal, placement, self._fence))
        self.runner = BatchRunner(*given, *rest, lambda: None, b"secret")
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


def done(task: SlotTask) -> Outcome:
    (work,) = task.request.ranges.items()
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

    def slow(task: SlotTask) -> Outcome:
        is_running.set()
        assert may_end.wait(60)
        return done(task)

    driver = Driver(staged, slow)
    driver.planner.may_go_on.set()
    assert is_running.wait(60)
    threading.Timer(0.2, may_end.set).start()
    assert driver.runner.stop(10)
    driver.join()
    assert driver.planner.reached == {("in", 0): 1}
    assert driver.spark.cancelled == []


def test_a_batch_that_takes_too_long_is_cancelled(staged: StagedApplication) -> None:
    """Spark ends its job; the next driver finishes the batch."""
    is_running, may_end = threading.Event(), threading.Event()

    def stuck(task: SlotTask) -> Outcome:
        is_running.set()
        assert may_end.wait(60)
        return Outcome(slot=0, error=StreamsError("spark-job", "cancelled"))

    driver = Driver(staged, stuck)
    driver.planner.may_go_on.set()
    assert is_running.wait(60)
    assert not driver.runner.stop(0.1)
    may_end.set()
    driver.join()
    assert driver.spark.cancelled == ["penstock-app-1-staged"]


def test_a_failure_that_passes_runs_the_same_batch_again(staged: StagedApplication) -> None:
    """Open transactions of the slots are ended first, and the log is read again."""
    asked: list[tuple[int, bool]] = []

    def failing_twice(task: SlotTask) -> Outcome:
        asked.append((task.request.batch, task.request.is_rerun))
        if len(asked) < 3:
            return Outcome(slot=0, error=StreamsError("worker-lost", "it is gone"))
        driver.runner.stop(0)
        return done(task)

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

    def failing(task: SlotTask) -> Outcome:
        if first == "broker-away" or len(codes) == 2:
            clock.now_s += LONG_S
        if codes:
            return Outcome(slot=0, error=StreamsError(codes.pop(0), "it is away"))
        driver.runner.stop(0)
        return done(task)

    driver = Driver(staged, failing)
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.error is None
    assert driver.runner.progress.reruns == 2


def test_a_failure_that_lasts_is_for_the_handler(staged: StagedApplication, clock: Clock) -> None:
    """Otherwise an application that cannot go on would look healthy for ever."""
    lost = StreamsError("worker-lost", "it is gone")

    def failing(task: SlotTask) -> Outcome:
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
    driver = Driver(staged, lambda task: Outcome(slot=0, error=wrong))
    driver.planner.may_go_on.set()
    driver.join()
    assert driver.error is wrong
    assert wrong.__cause__ is None
    assert driver.fenced == 0


def test_faults_of_the_column_path_are_counted_for_the_metrics(staged: StagedApplication) -> None:
    """What slots report about them adds up over tasks and batches."""

    def faulty(task: SlotTask) -> Outcome:
        driver.runner.stop(0)
        (report,) = done(task).reports
        reports = [replace(report, slot=slot, column_errors={"IndexError": 1}) for slot in (0, 1)]
        return Outcome(slot=0, reports=tuple(reports))

    driver = Driver(staged, faulty)
    driver.planner.may_go_on.set()
    driver.join()
    assert dict(driver.runner.progress.column_errors) == {"IndexError": 2}


def test_servers_are_asked_during_a_long_commit_interval(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all of them end, and every batch begins with a restore."""
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

    def answer(task: SlotTask) -> Outcome:
        asked.append(task.request.limits.bytes)
        if len(asked) == 1:
            return Outcome(slot=0, error=StreamsError("worker-lost", "its process is gone"))
        if len(asked) < 13:
            return Outcome(slot=0, error=StreamsError("broker-away", "not taken within 30 s"))
        driver.runner.stop(0)
        return done(task)

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

    def answer(task: SlotTask) -> Outcome:
        asked.append(task.request.slots)
        driver.runner.stop(0)
        return done(task)

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

    def hanging(endpoint: Endpoint, secret: bytes, question: tuple[Any, ...]) -> None:
        asked.append(endpoint.server)
        assert may_end.wait(60)

    monkeypatch.setattr(slot_release, "ask", hanging)
    monkeypatch.setattr(slot_release, "_PATIENCE_S", 0.1)
    runner = Driver(staged, done).runner
    runner.placement.note(
        Outcome(slot=number, endpoint=Endpoint(f"server-{number}", "host", 1, "1"))
        for number in range(3)
    )
    assert runner.stop(10)
    runner.close(is_clean=False, keeps_slots=False)
    assert sorted(asked) == ["server-0", "server-1", "server-2"]
    assert runner.placement.endpoints == {}
    may_end.set()


def test_slots_are_released_although_the_batch_log_cannot_be_written(
    staged: StagedApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they keep their folders for two minutes, in a session that goes on."""
    asked: list[Any] = []
    monkeypatch.setattr(slot_release, "ask", lambda endpoint, *more: asked.append(endpoint))
    driver = Driver(staged, done)
    driver.log.state.plan, driver.log.state.complete = PLAN, PLAN.batch
    place = Endpoint("server", "host", 1, "1")
    driver.runner.placement.note([Outcome(slot=0, endpoint=place)])
    assert driver.runner.stop(10)
    driver.runner.close(is_clean=True, keeps_slots=False)
    assert driver.log.finished == [PLAN.batch]
    assert asked == [place]


def test_the_restore_listener_hears_of_every_store_that_was_read_back(
    staged: StagedApplication,
) -> None:
    """In the order of Kafka Streams: where it starts and ends, how far it is, how much it was."""
    restore = Restore("counts", "app-counts-changelog", 0, start=3, end=9, position=9, records=5)

    def restored(task: SlotTask) -> Outcome:
        driver.runner.stop(0)
        (report,) = done(task).reports
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
