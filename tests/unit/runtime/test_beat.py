"""The beat gathers what applications have ready, and keeps their errors apart."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pool.beat import Beat, Results, Told
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket

REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
ENDPOINT = Endpoint("server", "127.0.0.1", 1, "driver")
PATIENCE_S = 30.0


def ticket(name: str) -> Ticket:
    return Ticket(id=name, kind="run", key=f"app-{name}", number=0, place=0, request=REQUEST)


class Jobs:
    """Runs jobs that end only when they may, and notes what each of them carried."""

    def __init__(self) -> None:
        self.carried: list[list[str]] = []
        self.titles: list[str] = []
        self.has_begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.error: BaseException | None = None

    def run(self, tickets: Sequence[Ticket], title: str) -> Results:
        self.carried.append([each.id for each in tickets])
        self.titles.append(title)
        self.has_begun.release()
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error
        return {each.id: Told(ENDPOINT, Answer(Stand.DONE, each.id)) for each in tickets}

    def begun(self) -> None:
        assert self.has_begun.acquire(timeout=PATIENCE_S)


def asked(pool: ThreadPoolExecutor, beat: Beat, name: str) -> Future[Results]:
    return pool.submit(beat.run, [ticket(name)], f"title of {name}")


def until_waiting(beat: Beat, count: int) -> None:
    """Wait until so many calls wait for the next job."""
    deadline = threading.Event()
    for _ in range(3_000):
        if len(beat._waiting) == count:
            return
        deadline.wait(0.01)
    raise AssertionError(f"{len(beat._waiting)} of {count} calls wait")


def test_calls_that_arrive_during_a_job_run_together_in_the_next() -> None:
    """So a beat costs one job, however many applications there are."""
    jobs = Jobs()
    beat = Beat(jobs.run, jobs=1)
    with ThreadPoolExecutor(8) as pool:
        first = asked(pool, beat, "a")
        jobs.begun()
        later = [asked(pool, beat, name) for name in "bcd"]
        until_waiting(beat, 3)
        jobs.may_end.release(2)
        found = [call.result(PATIENCE_S) for call in (first, *later)]
    assert [len(each) for each in jobs.carried] == [1, 3]
    assert [list(each) for each in found] == [["a"], ["b"], ["c"], ["d"]]
    assert jobs.titles[0] == "title of a"
    assert jobs.titles[1].endswith(", and 2 more")


def test_a_job_that_takes_long_does_not_keep_the_next_from_beginning() -> None:
    """Two jobs may be under way, so one slow server holds up only its own job."""
    jobs = Jobs()
    beat = Beat(jobs.run, jobs=2)
    with ThreadPoolExecutor(8) as pool:
        calls = [asked(pool, beat, "a")]
        jobs.begun()
        calls.append(asked(pool, beat, "b"))
        jobs.begun()
        assert [len(each) for each in jobs.carried] == [1, 1]
        jobs.may_end.release(2)
        assert [list(call.result(PATIENCE_S)) for call in calls] == [["a"], ["b"]]


def test_a_job_that_fails_as_a_whole_fails_for_all_its_calls_and_no_other() -> None:
    """Each application runs its batch again, as it does with a job of its own."""
    jobs = Jobs()
    beat = Beat(jobs.run, jobs=1)
    with ThreadPoolExecutor(8) as pool:
        first = asked(pool, beat, "a")
        jobs.begun()
        jobs.error = RuntimeError("the executor is lost")
        jobs.may_end.release()
        with pytest.raises(RuntimeError, match="the executor is lost"):
            first.result(PATIENCE_S)
        jobs.error = None
        second = asked(pool, beat, "b")
        jobs.may_end.release()
        assert list(second.result(PATIENCE_S)) == ["b"]


def test_a_beat_that_has_ended_takes_no_calls() -> None:
    """Nobody would ever answer them."""
    beat = Beat(Jobs().run)
    beat.close()
    with pytest.raises(StreamsError) as raised:
        beat.run([ticket("a")], "")
    assert raised.value.code == "spark-lost"
