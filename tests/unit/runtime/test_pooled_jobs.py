"""Stages of an application in a pool: who is asked, who is waited for, and what is handed back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pool import pooled_jobs as module
from penstock.runtime.spark.driver.pool.beat import Results, Told
from penstock.runtime.spark.driver.pool.pooled_jobs import PooledJobs
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket

ENDPOINT = Endpoint("server", "127.0.0.1", 1, "driver")
DONE = Answer(Stand.DONE, ("report",))
LOST = StreamsError("worker-lost", "it is gone")


class Pool:
    """A pool whose beat gives each ticket the next of the prepared answers."""

    def __init__(self, *answers: Answer | StreamsError) -> None:
        self.secret = b"secret"
        self.beat = self
        self.carried: list[Ticket] = []
        self.secluded: list[tuple[str, int]] = []
        self._answers = list(answers)

    def run(self, tickets: Sequence[Ticket], title: str) -> Results:
        self.carried += tickets
        return {each.id: self._told() for each in tickets}

    def _told(self) -> Told | BaseException:
        answer = self._answers.pop(0)
        return answer if isinstance(answer, StreamsError) else Told(ENDPOINT, answer)

    def place_of(self, application_id: str, number: int) -> int:
        return number

    def seclude(self, application_id: str, number: int) -> None:
        self.secluded.append((application_id, number))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Questions that go to a server directly; each learns at once and is done when waited for."""
    questions: list[tuple[Any, ...]] = []

    def ask(endpoint: Endpoint, secret: bytes, question: tuple[Any, ...]) -> Answer:
        questions.append(question)
        return Answer(Stand.PENDING) if question[0] == "learn" else DONE

    monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(module, "packed", lambda application: b"packed")
    return questions


def jobs_of(pool: Pool) -> PooledJobs:
    application = SimpleNamespace(id="app", key="app-1-x")
    return PooledJobs(cast("Any", pool), cast("Any", application))


def request(slots: int = 1) -> StageRequest:
    return StageRequest(batch=1, stage=0, slots=slots, clock_ms=0)


def test_what_is_done_within_the_beat_asks_nothing_more(asked: list[Any]) -> None:
    """The usual case of small batches: one job, and no other question."""
    pool = Pool(DONE, DONE)
    outcomes = jobs_of(pool).run("run", request(2), "")
    assert [(each.slot, each.reports, each.endpoint) for each in outcomes] == [
        (0, ("report",), ENDPOINT),
        (1, ("report",), ENDPOINT),
    ]
    assert [(each.kind, each.place) for each in pool.carried] == [("run", 0), ("run", 1)]
    assert asked == []


def test_a_server_that_does_not_know_the_application_gets_it(asked: list[Any]) -> None:
    """All slots begin before any is waited for."""
    pool = Pool(Answer(Stand.UNKNOWN), Answer(Stand.UNKNOWN))
    outcomes = jobs_of(pool).run("warm-up", request(2), "")
    assert [each.reports for each in outcomes] == [("report",)] * 2
    assert [question[0] for question in asked] == ["learn", "learn", "wait", "wait"]
    assert asked[0] == ("learn", pool.carried[0], b"packed")
    assert asked[2] == ("wait", "app-1-x", 0, pool.carried[0].id)


def test_what_takes_long_is_waited_for_at_its_server(asked: list[Any]) -> None:
    """The beat goes on meanwhile, without it."""
    (outcome,) = jobs_of(Pool(Answer(Stand.PENDING))).run("run", request(), "")
    assert outcome.reports == ("report",)
    assert [question[0] for question in asked] == ["wait"]


def test_an_error_of_the_slot_is_handed_back_with_its_server(asked: list[Any]) -> None:
    """The driver decides what it means."""
    error = StreamsError("processing", "node 'map' failed")
    (outcome,) = jobs_of(Pool(Answer(Stand.FAILED, error))).run("run", request(), "")
    assert (outcome.error, outcome.endpoint) == (error, ENDPOINT)


def test_each_attempt_has_tickets_of_its_own(asked: list[Any]) -> None:
    """A slot must not answer a second attempt with what the first one did."""
    pool = Pool(DONE, DONE)
    jobs = jobs_of(pool)
    jobs.run("run", request(), "")
    jobs.run("run", request(), "")
    assert len({each.id for each in pool.carried}) == 2


@pytest.mark.parametrize(
    ("answers", "is_secluded"),
    [((LOST, LOST), True), ((LOST, DONE, LOST), False), ((LOST,), False)],
)
def test_a_slot_whose_server_dies_twice_in_a_row_gets_its_own(
    asked: list[Any], answers: tuple[Answer | StreamsError, ...], is_secluded: bool
) -> None:
    """A function that ends its process must not take the other applications along for ever."""
    pool = Pool(*answers)
    jobs = jobs_of(pool)
    for _ in answers:
        jobs.run("run", request(), "")
    assert pool.secluded == ([("app", 0)] if is_secluded else [])


def test_a_stage_that_was_cancelled_is_not_waited_for(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing an application whose function hangs ends its batch; the next run finishes it."""
    waits = threading.Semaphore(0)

    def pending(*question: Any) -> Answer:
        waits.release()
        return Answer(Stand.PENDING)

    still: Callable[..., Answer] = pending
    monkeypatch.setattr(module, "ask", still)
    jobs = jobs_of(Pool(Answer(Stand.PENDING)))
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(jobs.run("run", request(), "")))
    thread.start()
    assert waits.acquire(timeout=30)
    jobs.cancel()
    thread.join(30)
    assert found[0].error.code == "spark-job"


def test_servers_of_a_pool_are_not_moved_for_one_application(asked: list[Any]) -> None:
    """They have slots of others, and closing a run leaves them alone."""
    pool = Pool()
    jobs = jobs_of(pool)
    assert jobs.to_move(4) is None
    jobs.close()
    assert pool.carried == []
