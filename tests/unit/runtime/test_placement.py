"""Where slots run, and when one of them moves to an executor with less to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver import placement as module
from penstock.runtime.spark.driver.placement import Placement, executor_count, is_local
from penstock.runtime.spark.exchange.stage_request import Endpoint, Outcome


class Clock:
    """The time that the placement sees."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def context(executors: int) -> Any:
    """A Spark context that lists its driver and so many executors."""
    tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (executors + 1))
    scala = SimpleNamespace(statusTracker=lambda: tracker)
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: scala))


def placed(executors: int, *places: str) -> Placement:
    """Slots on executors of these names, all on one host."""
    placement = Placement(context(executors))
    placement.note(
        Outcome(slot=number, endpoint=Endpoint(f"server-{number}", "host", 1, name))
        for number, name in enumerate(places)
    )
    return placement


def after(clock: Clock, seconds: float) -> None:
    clock.now_s += seconds


@pytest.mark.parametrize(
    ("executors", "places", "moved"),
    [(2, "1111", 3), (3, "1122", 1), (3, "2111", 3), (4, "1223", 2), (2, "1112", 2)],
)
def test_a_slot_of_the_fullest_executor_moves_to_one_with_less(
    clock: Clock, executors: int, places: str, moved: int
) -> None:
    """Moving costs a restore, but an idle executor costs more."""
    placement = placed(executors, *places)
    after(clock, 60)
    assert placement.to_move(len(places)) == moved


@pytest.mark.parametrize(
    ("executors", "places"), [(2, "1122"), (2, "112"), (3, "12"), (1, "11"), (5, "1")]
)
def test_nothing_moves_while_the_load_is_even(clock: Clock, executors: int, places: str) -> None:
    """Or while there are more executors than slots."""
    placement = placed(executors, *places)
    after(clock, 60)
    assert placement.to_move(len(places)) is None


def test_nothing_moves_in_the_first_moments(clock: Clock) -> None:
    """Executors of a cluster arrive one after the other."""
    placement = placed(2, "1", "1")
    after(clock, 5)
    assert placement.to_move(2) is None
    after(clock, 60)
    assert placement.to_move(2) == 1


def test_one_slot_moves_at_a_time(clock: Clock) -> None:
    """The next one waits until the first has settled."""
    placement = placed(3, "1", "1", "1")
    after(clock, 60)
    assert placement.to_move(3) == 2
    after(clock, 15)
    assert placement.to_move(3) is None
    after(clock, 20)
    assert placement.to_move(3) is not None


def test_slots_that_are_no_longer_used_do_not_count(clock: Clock) -> None:
    """An application with fewer slots than before may still know all of them."""
    placement = placed(2, "1", "1")
    after(clock, 60)
    assert placement.to_move(1) is None


def test_slots_without_a_place_do_not_move(clock: Clock) -> None:
    """They are started wherever Spark has room."""
    placement = placed(2)
    after(clock, 60)
    assert placement.to_move(2) is None


def test_a_slot_with_another_server_has_moved() -> None:
    """The driver tells the new server who had the slot before."""
    placement = placed(1, "1", "1")
    again = Endpoint("server-0", "host", 1, "1")
    placement.note([Outcome(slot=0, endpoint=again), Outcome(slot=1)])
    assert placement.moves == 0
    placement.note([Outcome(slot=1, endpoint=Endpoint("another", "host", 2, "1"))])
    assert placement.moves == 1
    assert placement.owners() == {0: "server-0", 1: "another"}
    placement.forget([0, 5])
    assert placement.endpoints.keys() == {1}


def test_a_spark_that_does_not_tell_its_executors_has_one() -> None:
    """The call is not part of Spark's public API; then nothing is moved."""
    assert executor_count(SimpleNamespace()) == 1  # type: ignore[arg-type]
    assert executor_count(context(0)) == 1
    assert executor_count(context(4)) == 4


@pytest.mark.parametrize(
    ("executor", "location"),
    [("7", "executor_host_7"), ("driver", None), ("unknown", None)],
)
def test_a_slot_is_preferred_by_its_own_executor(executor: str, location: str | None) -> None:
    """Spark's scheduler takes this form; on one machine there is nothing to prefer."""
    assert module._location(Endpoint("server", "host", 1, executor)) == location


def test_without_places_tasks_run_anywhere() -> None:
    """One partition per slot, made once as long as nothing moves."""
    made: list[tuple[range, int]] = []

    def parallelize(numbers: range, slices: int) -> object:
        made.append((numbers, slices))
        return object()

    placement = Placement(SimpleNamespace(parallelize=parallelize))  # type: ignore[arg-type]
    assert placement.places(3) is placement.places(3)
    assert made == [(range(3), 3)]
    placement.places(4)
    assert len(made) == 2


def test_a_spark_without_preferred_locations_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The call is not a public one. Without it slots move, and restore their state each time."""
    spark: Any = SimpleNamespace(parallelize=lambda numbers, slices: list(numbers))
    for _ in range(2):
        assert module.placed(spark, ["executor_host_7", None]) == [0, 1]
    assert len(caplog.records) == 1
    assert "slots may move: AttributeError" in caplog.text


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        (None, True),
        ("local", True),
        ("local[*]", True),
        ("local[4,2]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://a:7077", False),
        ("yarn", False),
        ("k8s://https://a:6443", False),
    ],
)
def test_only_a_local_master_has_no_executors(master: str | None, expected: bool) -> None:
    """Spark's own local cluster has executors: it starts them as a real one does."""
    assert is_local(master) is expected


def test_the_last_server_of_a_slot_is_remembered_after_the_slot_has_lost_its_place() -> None:
    """A server that had it before that one may still be there, with state of that time."""
    placement = placed(2, "1", "2")
    placement.forget([0])
    assert placement.endpoints.keys() == {1}
    assert placement.owners() == {0: "server-0", 1: "server-1"}
