"""The stream threads of an application or a pool: who comes, who goes, and who has what to do.

Exercises ``shared_threads``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.driver.observing.spark_pages import ShownState
from penstock.runtime.spark.driver.threads import shared_threads as sharing
from penstock.runtime.spark.driver.threads import stream_threads as module
from penstock.runtime.spark.driver.threads import thread_job
from penstock.runtime.spark.driver.threads.shared_threads import shared_threads
from penstock.runtime.spark.driver.threads.stream_threads import Seat, StreamThreads
from penstock.runtime.spark.exchange.questions import SparkTask
from penstock.runtime.spark.exchange.stage_request import Endpoint
from tests.runtime.fake_spark import SECRET, FakeSpark
from tests.runtime.slot_processes import happens

FIRST, SECOND = Seat("app", 0), Seat("app", 1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_ARRIVAL_S", 0.5), ("_LOOK_S", 0.05), ("_LEAVE_S", 0.1)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(thread_job, "_PAUSE_S", 0.05)


@pytest.fixture
def spark() -> FakeSpark:
    return FakeSpark()


@pytest.fixture
def threads(spark: FakeSpark) -> Iterator[StreamThreads]:
    made = StreamThreads(cast("Any", spark), "app", SECRET, tags=["zone"])
    yield made
    made.close()


def wait(threads: StreamThreads, seat: Seat = FIRST) -> list[Endpoint]:
    threads.wait_for(seat, threading.Event(), lambda: None)
    return threads.candidates(seat)


# Coming


def test_as_many_threads_as_wanted_come_in(threads: StreamThreads, spark: FakeSpark) -> None:
    """In one Spark job, which is named after the application."""
    threads.start("app", 3)
    assert len(wait(threads)) == 3
    assert (spark.names, spark.titles) == (["app"], ["app: stream threads"])
    threads.start("app", 2)
    assert spark.attempts == 1
    threads.start("app", 4)
    assert len(wait(threads)) == 4
    assert spark.attempts == 2


def test_one_machine_keeps_a_core_for_other_jobs(threads: StreamThreads, spark: FakeSpark) -> None:
    """The user's own jobs would wait for ever."""
    spark.cores = 3
    threads.start("app", 12)
    assert len(wait(threads)) == 2


def test_a_cluster_may_have_more_threads_than_cores_for_a_while(
    spark: FakeSpark, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that came up do the work, and the log says so once; cores that come are used."""
    spark.master, spark.cores = "spark://there", 2
    threads = StreamThreads(cast("Any", spark), "app", SECRET)
    threads.start("app", 3)
    began = time.monotonic()
    assert len(wait(threads)) == 2
    assert time.monotonic() - began >= 0.5
    began = time.monotonic()
    assert len(wait(threads)) == 2
    assert time.monotonic() - began < 0.5
    assert caplog.text.count("2 of 3 stream threads run") == 1
    with spark.changed:
        spark.cores += 1
        spark.changed.notify_all()
    assert happens(lambda: len(threads.candidates(FIRST)) == 3, within_s=30)
    threads.close()


def test_a_wait_without_any_thread_looks_around_and_can_be_given_up(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """Whoever waits checks the group and the executors meanwhile, and may be closed."""
    spark.cores = 0
    is_over = threading.Event()
    looks: list[int] = []

    def look() -> None:
        looks.append(len(threads.candidates(FIRST)))
        if len(looks) == 3:
            is_over.set()

    threads.start("app", 1)
    threads.wait_for(FIRST, is_over, look)
    assert looks == [0, 0, 0]
    spark.cores = 1


def test_an_error_of_spark_is_told_to_those_who_wait(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """The job is tried again by itself, so the next wait may succeed."""
    spark.errors = [RuntimeError("no room")]
    threads.start("app", 1)
    with pytest.raises(PenstockError, match="no room"):
        wait(threads)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not threads.candidates(FIRST):
        time.sleep(0.02)
    assert len(wait(threads)) == 1


def test_threads_that_were_ended_with_their_session_do_not_come(threads: StreamThreads) -> None:
    threads.start("app", 1)
    wait(threads)
    threads.close()
    with pytest.raises(StreamsError) as raised:
        wait(threads)
    assert raised.value.code == "spark-lost"


def test_a_thread_that_comes_too_late_is_ended(
    threads: StreamThreads, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job is not known any more."""
    monkeypatch.setattr(module, "_END_S", 0.1)
    threads.start("app", 1)
    wait(threads)
    threads._jobs.clear()
    spark.threads[0].die()
    assert happens(lambda: len(spark.threads) > 1 and spark.threads[1].is_ended, within_s=30)
    assert threads.candidates(FIRST) == []


def test_a_thread_says_the_tags_of_its_place(threads: StreamThreads, spark: FakeSpark) -> None:
    spark.tags = {"zone": "a"}
    threads.start("app", 1)
    wait(threads)
    assert threads.tags() == {"driver": {"zone": "a"}}


# Going


def test_a_thread_that_dies_has_nothing_to_do_any_more(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """It is noticed at once, and Spark starts another one."""
    threads.start("app", 2)
    lost, kept = wait(threads)
    threads.seat(FIRST, lost)
    threads.seat(SECOND, kept)
    dying = next(each for each in spark.threads if each.endpoint == lost)
    began = time.monotonic()
    dying.die()
    assert happens(lambda: not threads.is_living(lost), within_s=10)
    assert time.monotonic() - began < 5
    assert dict(threads.load()) == {kept.server: 1}
    assert happens(lambda: len(threads.candidates(FIRST)) == 2, within_s=30)
    assert spark.attempts == 1


def test_a_silent_thread_is_given_up_and_killed(threads: StreamThreads, spark: FakeSpark) -> None:
    """A paused process holds databases open; Spark ends it, and runs the task again."""
    threads.start("app", 1)
    (silent,) = wait(threads)
    threads.seat(FIRST, silent)
    threads.give_up(silent.server)
    assert not threads.is_living(silent)
    assert threads.load() == {}
    assert spark.killed == [(0, True)]
    threads.give_up(silent.server)
    assert spark.killed == [(0, True)]
    (other,) = wait(threads)
    assert other != silent


def test_a_thread_that_is_gone_anyway_is_not_killed(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """Its number might belong to another attempt by then."""
    threads.start("app", 1)
    (dying,) = wait(threads)
    threading.Timer(0.02, spark.threads[0].die).start()
    threads.give_up(dying.server)
    assert spark.killed == []


def test_fewer_threads_end_those_that_have_nothing_to_do(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """Not those with slots or copies, however many there are."""
    threads.start("app", 4)
    first, second, *_ = wait(threads)
    threads.seat(FIRST, first)
    threads.seat(Seat("app", 1, second.server), second)
    threads.end_idle()
    assert not any(each.is_ended for each in spark.threads)
    threads.shrink(1)
    threads.end_idle()
    assert happens(lambda: len(threads.candidates(FIRST)) == 2, within_s=30)
    assert set(threads.candidates(FIRST)) == {first, second}
    assert wait(threads) == [first, second]


def test_all_threads_end_and_spark_kills_those_that_do_not(
    spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of an application stays in a session that goes on."""
    monkeypatch.setattr(module, "_END_S", 0.2)
    spark.makes_stuck = True
    threads = StreamThreads(cast("Any", spark), "app", SECRET)
    threads.start("app", 2)
    wait(threads)
    began = time.monotonic()
    threads.close()
    assert time.monotonic() - began < 10
    assert [each.is_ended for each in spark.threads] == [True, True]
    assert len(spark.cancelled) == 1
    threads.close()


def test_the_end_does_not_wait_for_threads_that_never_came(spark: FakeSpark) -> None:
    """An application is closed while Spark has no room for it."""
    spark.cores = 0
    spark.master = "spark://there"
    threads = StreamThreads(cast("Any", spark), "app", SECRET)
    threads.start("app", 2)
    began = time.monotonic()
    threads.close()
    assert time.monotonic() - began < 5
    assert len(spark.cancelled) == 1


# Places


def test_a_thread_is_added_on_an_executor_once(spark: FakeSpark) -> None:
    """However often it is asked for while Spark starts it."""
    spark.master, spark.cores = "spark://there", 0
    threads = StreamThreads(cast("Any", spark), "app", SECRET)
    there = ExecutorId("127.0.0.1", "5")
    for _ in range(3):
        threads.add(there)
    assert happens(lambda: spark.attempts == 1, within_s=30)
    with spark.changed:
        spark.cores += 2
        spark.changed.notify_all()
    assert happens(lambda: threads.on(there) is not None, within_s=30)
    assert threads.on(ExecutorId("127.0.0.1", "6")) is None
    threads.add(there)
    assert happens(lambda: len(threads.candidates(FIRST)) == 2, within_s=30)
    busy = threads.on(there)
    assert busy is not None
    threads.seat(FIRST, busy)
    assert threads.on(there) != busy
    threads.close()


def test_jobs_that_are_over_are_not_kept(
    threads: StreamThreads, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark may have no room on an executor for days, and is asked every few seconds."""
    threads.start("app", 1)
    wait(threads)
    monkeypatch.setattr(spark, "_thread", lambda task, group: True)
    there = ExecutorId("127.0.0.1", "5")
    for _ in range(5):
        threads.add(there)
        assert happens(lambda: any(job.is_over for job in threads._jobs.values()), within_s=30)
    assert len(threads._jobs) == 2


# Applications that share threads


def test_a_secluded_slot_has_a_thread_that_no_other_slot_gets(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """It may be the one that ends its process."""
    threads.start("app", 2)
    shared = wait(threads)
    threads.seclude(FIRST)
    threads.seclude(FIRST)
    (own,) = wait(threads)
    assert own not in shared
    assert wait(threads, SECOND) == shared
    assert threads.on(ExecutorId("127.0.0.1", "driver")) in shared
    assert spark.titles[1:] == ["app: stream thread 0"]


def test_the_threads_of_one_slot_end_with_its_application(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    """The others go on. When it starts again it has the shared threads, as at its first start."""
    threads.start("app", 1)
    threads.start("other", 1)
    (shared,) = wait(threads)
    threads.seclude(FIRST)
    wait(threads)
    threads.leave("app")
    assert happens(lambda: spark.threads[-1].is_ended, within_s=30)
    assert wait(threads, Seat("other", 0)) == [shared]
    threads.start("app", 1)
    is_over = threading.Event()
    threading.Timer(20, is_over.set).start()
    threads.wait_for(FIRST, is_over, lambda: None)
    assert not is_over.is_set()
    assert threads.candidates(FIRST) == [shared]


def test_shared_threads_end_with_the_last_application(
    threads: StreamThreads, spark: FakeSpark
) -> None:
    threads.start("app", 1)
    threads.start("other", 1)
    (thread,) = wait(threads)
    threads.seat(FIRST, thread)
    threads.leave("app")
    assert threads.load() == {}
    assert threads.is_living(thread)
    threads.leave("other")
    assert spark.threads[0].is_ended
    assert not threads.is_living(thread)


def test_an_application_that_starts_while_the_last_one_ends_has_threads(
    threads: StreamThreads, spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query is dropped and another one is made at the same moment."""
    spark.makes_stuck = True
    monkeypatch.setattr(module, "_END_S", 1.0)
    threads.start("app", 1)
    (ending,) = wait(threads)
    leaving = threading.Thread(target=threads.leave, args=("app",))
    leaving.start()
    assert happens(lambda: spark.threads[0].is_ended, within_s=30)
    spark.makes_stuck = False
    threads.start("next", 1)
    (thread,) = wait(threads, Seat("next", 0))
    assert thread != ending
    leaving.join(30)
    assert threads.is_living(thread)


def test_a_pool_has_as_many_threads_as_spark_has_cores_and_ends_with_its_context(
    spark: FakeSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Applications of the same name share it until then. One core is left to other jobs."""
    monkeypatch.setattr(sharing, "_POOLS", {})
    first = cast("Any", spark)
    pool = shared_threads(first, "sql", SECRET)
    pool.start("app", 1)
    assert pool._wanted == 7
    assert shared_threads(first, "sql", SECRET) is pool
    assert shared_threads(first, "other", SECRET) is not pool
    spark.is_stopped = True
    second: Any = FakeSpark(cores=1)
    assert shared_threads(second, "sql", SECRET).context is second


# What Spark's pages show


def test_pages_show_what_each_thread_has_done(threads: StreamThreads, spark: FakeSpark) -> None:
    """Under the title of its job, and only while it lives."""
    threads.start("app", 1)
    wait(threads)
    assert happens(lambda: bool(threads._shown_tasks()), within_s=30)
    (shown,) = threads._shown_tasks()
    assert (shown.task, shown.executor) == (SparkTask(0, 1), "driver")
    assert (shown.title, shown.worked) == ("app: stream threads", spark.worked)
    threads.leave("app")
    assert threads._shown_tasks() == []


def test_pages_show_the_applications_that_are_there(threads: StreamThreads) -> None:
    """Those of a pool share a job."""
    threads.start("app", 1)
    threads.start("other", 1)
    assert threads._shown_state() == ""
    threads.show("app", lambda: ShownState("RUNNING", 2))
    threads.show("other", lambda: ShownState("REBALANCING", None))
    assert threads._shown_state() == "1 REBALANCING, 1 RUNNING, 2 records behind"
    threads.leave("app")
    assert threads._shown_state() == "REBALANCING"
