"""A slot server runs each ticket once, and keeps its answer for whoever asks again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket
from penstock.runtime.spark.worker.ticketed_work import TicketedWork

REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)
PATIENCE_S = 30.0


def ticket(name: str, key: str = "app") -> Ticket:
    return Ticket(id=name, kind="run", key=key, number=0, place=0, request=REQUEST)


class Held:
    """Work that goes on until it may end."""

    def __init__(self) -> None:
        self.runs = 0
        self.may_end = threading.Event()

    def __call__(self) -> str:
        self.runs += 1
        assert self.may_end.wait(PATIENCE_S)
        return "reports"


def test_slow_work_does_not_hold_back_what_is_done() -> None:
    """A beat returns after a moment and says which of its tickets go on."""
    work, slow = TicketedWork(), Held()
    tickets = [ticket("a", "quick"), ticket("b", "slow"), ticket("c", "unknown")]
    work.begin(tickets[0], lambda: "done")
    work.begin(tickets[1], slow)
    assert work.answer(("quick", 0), "a", PATIENCE_S) == Answer(Stand.DONE, "done")
    assert dict(work.answers(tickets, 0.01)) == {
        "a": Answer(Stand.DONE, "done"),
        "b": Answer(Stand.PENDING),
        "c": Answer(Stand.UNKNOWN),
    }
    assert work.is_busy
    slow.may_end.set()
    assert work.answer(("slow", 0), "b", PATIENCE_S) == Answer(Stand.DONE, "reports")
    assert not work.is_busy


def test_a_second_task_of_spark_gets_the_answer_of_the_first() -> None:
    """Spark tries again what a lost executor has taken along; the slot works once."""
    work, held = TicketedWork(), Held()
    for _ in range(3):
        work.begin(ticket("a"), held)
    assert work.has(ticket("a"))
    held.may_end.set()
    assert work.answer(("app", 0), "a", PATIENCE_S).content == "reports"
    work.begin(ticket("a"), held)
    assert work.answer(("app", 0), "a", PATIENCE_S).content == "reports"
    assert held.runs == 1


def test_a_driver_that_asks_again_has_its_own_run() -> None:
    """It has fenced the first one meanwhile, whose answer means nothing any more."""
    work, first = TicketedWork(), Held()
    work.begin(ticket("a"), first)
    work.begin(ticket("b"), lambda: "again")
    assert work.answer(("app", 0), "b", PATIENCE_S).content == "again"
    with pytest.raises(StreamsError) as raised:
        work.answer(("app", 0), "a", PATIENCE_S)
    assert raised.value.code == "slot-unreachable"
    first.may_end.set()


def test_an_error_is_an_answer() -> None:
    """The driver of the application decides what it means; others do not see it."""
    work = TicketedWork()

    def fail() -> Any:
        raise StreamsError("processing", "node 'map' failed")

    work.begin(ticket("a"), fail)
    stand, error = work.answer(("app", 0), "a", PATIENCE_S)
    assert stand is Stand.FAILED
    assert error.code == "processing"


def test_a_slot_that_was_closed_is_unknown() -> None:
    """The same run of an application may come back to this server later."""
    work = TicketedWork()
    work.begin(ticket("a"), lambda: "done")
    work.answer(("app", 0), "a", PATIENCE_S)
    work.forget(("app", 0))
    assert dict(work.answers([ticket("a")], 0.0)) == {"a": Answer(Stand.UNKNOWN)}
