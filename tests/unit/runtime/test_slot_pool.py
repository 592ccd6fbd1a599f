"""Where the slots of a pool are, and what a job of its beat tells each application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pool import slot_pool as module
from penstock.runtime.spark.driver.pool.beat import Told
from penstock.runtime.spark.driver.pool.slot_pool import SlotPool, slot_pool
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, PlaceOutcome, Stand, Ticket
from penstock.runtime.spark.worker.pool_task import PoolTask

REQUEST = StageRequest(batch=1, stage=0, slots=1, clock_ms=0)


class Context:
    """A Spark context with so many cores; a function says what each place of a job answers."""

    def __init__(self, cores: int = 2) -> None:
        self.defaultParallelism = cores
        self.jobs: list[tuple[PoolTask, list[int]]] = []
        self.answer: Callable[[PoolTask, int], PlaceOutcome] = done
        self.is_stopped = False
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: self.is_stopped))

    def parallelize(self, numbers: Iterable[int], slices: int) -> list[int]:
        return list(numbers)

    def setLocalProperty(self, name: str, value: str) -> None: ...  # noqa: N802 - Spark's name

    def setJobGroup(self, group: str, title: str) -> None: ...  # noqa: N802

    def runJob(  # noqa: N802
        self, places: list[int], task: PoolTask, wanted: Sequence[int]
    ) -> list[PlaceOutcome]:
        assert set(wanted) <= set(places)
        self.jobs.append((task, list(wanted)))
        return [self.answer(task, place) for place in wanted]


def endpoint(place: int) -> Endpoint:
    return Endpoint(f"server-{place}", "127.0.0.1", place, "driver")


def done(task: PoolTask, place: int) -> PlaceOutcome:
    answers = tuple((each.id, Answer(Stand.DONE, [each.key])) for each in task.tickets[place])
    return PlaceOutcome(place=place, endpoint=endpoint(place), answers=answers)


def made(context: Context) -> SlotPool:
    return SlotPool(context, "sql", b"secret")  # type: ignore[arg-type]


def ticket(pool: SlotPool, name: str, number: int = 0) -> Ticket:
    place = pool.place_of(name, number)
    return Ticket(id=f"{name}{number}", kind="run", key=name, number=number, place=place,
                  request=REQUEST)  # fmt: skip


def test_slots_are_spread_over_as_many_places_as_there_are_cores() -> None:
    """Twenty applications on two cores need two processes."""
    pool = made(Context(cores=2))
    places = Counter(pool.place_of(f"app-{number}", 0) for number in range(20))
    assert places == {0: 10, 1: 10}


def test_slots_of_one_application_are_apart_as_long_as_there_are_places() -> None:
    """They are meant to run at the same time."""
    pool = made(Context(cores=3))
    assert [pool.place_of("app", number) for number in range(4)] == [0, 1, 2, 0]


def test_a_slot_keeps_its_place_until_its_application_is_released() -> None:
    """Its state is there. What another one leaves behind is filled up again."""
    pool = made(Context(cores=2))
    kept = [pool.place_of(name, 0) for name in "abcd"]
    pool.release("a")
    assert [pool.place_of(name, 0) for name in "bcd"] == kept[1:]
    assert pool.place_of("e", 0) == 0


def test_executors_that_come_later_get_slots_of_new_applications() -> None:
    """On a cluster, the first application starts before all executors are there."""
    context = Context(cores=1)
    pool = made(context)
    assert [pool.place_of("a", 0), pool.place_of("b", 0)] == [0, 0]
    context.defaultParallelism = 2
    assert pool.place_of("c", 0) == 1


def test_a_secluded_slot_has_a_place_that_nobody_else_gets() -> None:
    """It may be the one that ends its process."""
    pool = made(Context(cores=2))
    pool.place_of("bad", 0)
    pool.seclude("bad", 0)
    own = pool.place_of("bad", 0)
    assert own == 2
    assert own not in {pool.place_of(f"app-{number}", 0) for number in range(10)}


def test_one_job_carries_the_tickets_of_all_to_the_places_that_have_any() -> None:
    """A place without tickets costs no task; the next job knows where the servers are."""
    context = Context(cores=3)
    pool = made(context)
    tickets = [ticket(pool, "a"), ticket(pool, "b")]
    results = pool.beat.run(tickets, "")
    assert results == {
        "a0": Told(endpoint(0), Answer(Stand.DONE, ["a"])),
        "b0": Told(endpoint(1), Answer(Stand.DONE, ["b"])),
    }
    pool.beat.run(tickets[1:], "")
    (first, places), (second, later) = context.jobs
    assert (first.servers, places, later) == ({}, [0, 1], [1])
    assert second.servers == {1: endpoint(1)}


def test_a_place_that_cannot_be_asked_is_an_error_of_its_slots_alone() -> None:
    """The other applications of the same job have their answers."""
    context = Context(cores=2)
    lost = StreamsError("worker-lost", "it does not start")

    def half(task: PoolTask, place: int) -> PlaceOutcome:
        return PlaceOutcome(place=0, error=lost) if place == 0 else done(task, place)

    context.answer = half
    pool = made(context)
    results = pool.beat.run([ticket(pool, "a"), ticket(pool, "b")], "")
    assert results["a0"] is lost
    assert isinstance(results["b0"], Told)


def test_a_ticket_without_an_answer_counts_as_a_lost_server() -> None:
    """The batch runs again; it must never look done."""
    context = Context(cores=1)
    context.answer = lambda task, place: PlaceOutcome(place=place, endpoint=endpoint(place))
    pool = made(context)
    found = pool.beat.run([ticket(pool, "a")], "")["a0"]
    assert isinstance(found, StreamsError)
    assert found.code == "worker-lost"


def test_a_pool_ends_with_its_spark_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications of the same name share it until then, and nothing after."""
    monkeypatch.setattr(module, "_POOLS", {})
    first: Any = Context()
    pool = slot_pool(first, "sql", b"secret")
    assert slot_pool(first, "sql", b"secret") is pool
    assert slot_pool(first, "other", b"secret") is not pool
    first.is_stopped = True
    second: Any = Context()
    assert slot_pool(second, "sql", b"secret").context is second
    with pytest.raises(StreamsError):
        pool.beat.run([], "")
