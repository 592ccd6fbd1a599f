"""Where slots run, where a lost one starts again, and when one of them moves."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.driver.threads import placement as module
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.stream_threads import Seat
from penstock.runtime.spark.exchange.stage_request import Endpoint


def thread(name: str, executor: str = "1") -> Endpoint:
    return Endpoint(name, f"host-{executor}", 1, executor)


class Threads:
    """The living threads of a cluster, and who has what to do."""

    def __init__(self, *living: Endpoint, master: str = "spark://there") -> None:
        self.living = list(living)
        self.seats: dict[Seat, str] = {}
        self.waited: list[int] = []
        self.added: list[ExecutorId] = []
        self.calls: list[tuple[str, Any]] = []
        self.context = SimpleNamespace(getConf=lambda: {"spark.master": master})

    def wait_for(self, seat: Seat, is_over: threading.Event, look: Any) -> None:
        self.waited.append(seat.number)

    def candidates(self, seat: Seat) -> list[Endpoint]:
        return list(self.living)

    def is_living(self, endpoint: Endpoint) -> bool:
        return endpoint in self.living

    def load(self) -> Counter[str]:
        return Counter(self.seats.values())

    def seat(self, seat: Seat, endpoint: Endpoint) -> None:
        self.seats[seat] = endpoint.server

    def vacate(self, seats: Iterable[Seat]) -> None:
        for seat in seats:
            self.seats.pop(seat, None)

    def on(self, executor: ExecutorId) -> Endpoint | None:
        there = [each for each in self.living if (each.host, each.executor) == executor]
        return there[0] if there else None

    def add(self, executor: ExecutorId) -> None:
        self.added.append(executor)

    def retire(self, executors: Collection[str]) -> None:
        self.retired = set(executors)

    def lose(self, endpoint: Endpoint) -> None:
        self.living.remove(endpoint)
        self.seats = {seat: at for seat, at in self.seats.items() if at != endpoint.server}

    def seclude(self, seat: Seat) -> None:
        self.calls.append(("seclude", seat.number))

    def shrink(self, slots: int) -> None:
        self.calls.append(("shrink", slots))

    def start(self, application_id: str, slots: int) -> None:
        self.calls.append(("start", slots))

    def end_idle(self) -> None:
        self.calls.append(("end_idle", len(self.seats)))


A, B, C = thread("a", "1"), thread("b", "2"), thread("c", "3")


class Cluster:
    """The time that the placement sees, and what Spark says about its executors."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.leaving: frozenset[str] = frozenset()
        self.executors: list[ExecutorId] = []

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(module, "leaving_executors", lambda context, names: made.leaving)
    monkeypatch.setattr(module, "executors_of", lambda context: made.executors)
    return made


def placed(threads: Threads, slots: int, *, shares: bool = False) -> Placement:
    made = Placement(cast("Any", threads), "app", shares=shares)
    ensure(made, slots)
    return made


def ensure(placement: Placement, slots: int) -> None:
    placement.ensure(slots, threading.Event(), lambda: None)


# Finding a thread


def test_every_slot_has_a_thread_and_keeps_it() -> None:
    """Its state is there. Who has a slot is not asked for again at every stage."""
    threads = Threads(A, B)
    placement = placed(threads, 4)
    before = dict(placement.endpoints)
    assert Counter(before.values()) == {A: 2, B: 2}
    threads.living.append(C)
    ensure(placement, 4)
    assert placement.endpoints == before
    assert threads.waited == [0, 1, 2, 3]
    assert placement.moves == 0


def test_only_the_slots_of_a_lost_thread_start_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    """The others go on where they are."""
    threads = Threads(A, B, C)
    placement = placed(threads, 3)
    before = dict(placement.endpoints)
    (lost,) = [slot for slot, each in before.items() if each == B]
    threads.lose(B)
    assert placement.forget_lost() == [lost]
    assert placement.forget_lost() == []
    with caplog.at_level("INFO"):
        ensure(placement, 3)
    assert {slot: each for slot, each in placement.endpoints.items() if slot != lost} == {
        slot: each for slot, each in before.items() if slot != lost
    }
    assert placement.moves == 1
    assert f"slot {lost} moves to a stream thread" in caplog.text
    assert threads.load().total() == 3


def test_the_last_thread_of_a_slot_is_known_after_the_slot_has_lost_it() -> None:
    """A thread that had it before that one may still be there, with state of that time."""
    threads = Threads(A, B)
    placement = placed(threads, 2)
    before = placement.owners()
    placement.forget([0])
    assert placement.endpoints.keys() == {1}
    assert placement.owners() == before
    assert set(before.values()) == {"a", "b"}


def test_a_slot_starts_again_where_its_state_is() -> None:
    """On its former executor, although another thread has less to do."""
    threads = Threads(A, B)
    placement = placed(threads, 2)
    (slot,) = [slot for slot, each in placement.endpoints.items() if each == B]
    again = thread("b-again", "2")
    threads.lose(B)
    threads.living += [C, again]
    ensure(placement, 2)
    assert placement.endpoints[slot] == again


def test_a_lost_slot_starts_at_its_standby() -> None:
    """The copy there is as good as the state that was lost."""
    threads = Threads(A, B, C)
    placement = placed(threads, 1)
    (lost,) = placement.endpoints.values()
    others = [each for each in (A, B, C) if each != lost]
    placement.standbys[0] = others[1]
    threads.lose(lost)
    ensure(placement, 1)
    assert placement.endpoints[0] == others[1]


def test_a_copy_makes_way_before_its_slot_starts() -> None:
    """Two processes cannot open the same databases."""
    made: list[tuple[int, Endpoint, bool]] = []
    placement = Placement(cast("Any", Threads(A)), "app")
    placement.make_way = lambda slot, at: made.append((slot, at, slot in placement.endpoints))
    ensure(placement, 1)
    assert made == [(0, A, False)]


def test_a_wait_for_threads_that_is_given_up_places_nothing() -> None:
    """The application is closed while Spark has no room."""
    threads = Threads()
    placement = Placement(cast("Any", threads), "app")
    is_over = threading.Event()
    is_over.set()
    placement.ensure(2, is_over, lambda: None)
    assert placement.endpoints == {}
    assert threads.seats == {}


def test_threads_that_end_right_after_the_wait_leave_the_slot_without_one() -> None:
    """The stage says so, and runs again."""
    placement = placed(Threads(), 1)
    assert placement.endpoints == {}


def test_a_slot_finds_a_thread_while_another_one_waits_for_spark() -> None:
    """Each lane asks for its own; the one without room holds up nobody."""
    threads = Threads(A)
    placement = Placement(cast("Any", threads), "app")
    is_waiting, has_room = threading.Event(), threading.Event()

    def wait_for(seat: Seat, is_over: threading.Event, look: Any) -> None:
        if seat.number == 0:
            is_waiting.set()
            assert has_room.wait(30)

    threads.wait_for = wait_for  # type: ignore[method-assign]
    first = threading.Thread(target=placement.ensure_one, args=(0, threading.Event(), lambda: None))
    first.start()
    assert is_waiting.wait(30)
    placement.ensure_one(1, threading.Event(), lambda: None)
    assert placement.endpoints == {1: A}
    has_room.set()
    first.join(30)
    assert placement.endpoints == {0: A, 1: A}


def test_slots_that_look_for_threads_together_are_spread() -> None:
    """Each one sees where those before it have gone."""
    threads = Threads(A, B, C)
    placement = Placement(cast("Any", threads), "app")
    lanes = [
        threading.Thread(target=placement.ensure_one, args=(n, threading.Event(), lambda: None))
        for n in range(6)
    ]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(30)
    assert Counter(placement.endpoints.values()) == {A: 2, B: 2, C: 2}


# Another number of slots


def test_threads_come_and_go_with_the_slots() -> None:
    """``add_stream_thread`` and ``remove_stream_thread``; idle ones end only after the slots."""
    threads = Threads(A, B)
    placement = placed(threads, 1)
    placement.resize(3, threading.Event(), lambda: None)
    assert threads.calls == [("shrink", 3), ("start", 3), ("end_idle", 3)]
    assert set(placement.endpoints) == {0, 1, 2}


def test_threads_of_a_pool_stay_as_they_are() -> None:
    threads = Threads(A)
    placement = placed(threads, 1, shares=True)
    placement.resize(2, threading.Event(), lambda: None)
    assert threads.calls == []
    assert set(placement.endpoints) == {0, 1}


def test_a_slot_that_ends_its_threads_gets_one_of_its_own() -> None:
    threads = Threads(A)
    placement = placed(threads, 2)
    placement.seclude(1)
    assert threads.calls == [("seclude", 1)]
    assert set(placement.endpoints) == {0}


# Moving


def test_a_slot_moves_to_a_new_executor(cluster: Cluster) -> None:
    """One at a time; the next waits until the first has settled."""
    threads = Threads(A)
    placement = placed(threads, 4)
    threads.living.append(B)
    cluster.now_s += 60
    found = placement.to_move(4)
    assert found is not None
    slot, target = found
    assert target == B
    placement.forget([slot])
    placement.begin_move(slot, target)
    ensure(placement, 4)
    assert placement.endpoints[slot] == B
    cluster.now_s += 15
    assert placement.to_move(4) is None
    cluster.now_s += 20
    assert placement.to_move(4) is not None


def test_nothing_moves_in_the_first_moments(cluster: Cluster) -> None:
    """Executors of a cluster arrive one after the other."""
    threads = Threads(A)
    placement = placed(threads, 4)
    threads.living.append(B)
    cluster.now_s += 6
    assert placement.to_move(4) is None


def test_slots_without_a_thread_do_not_move(cluster: Cluster) -> None:
    """They are placed first; nor do slots that the next batch will not have any more."""
    threads = Threads(A)
    placement = placed(threads, 4)
    threads.living.append(B)
    placement.forget([3])
    cluster.now_s += 60
    assert placement.to_move(4) is None
    assert placement.to_move(2) is None


def test_a_target_that_is_gone_by_then_is_not_waited_for(cluster: Cluster) -> None:
    """The slot is released already, and goes wherever there is room."""
    threads = Threads(A, B)
    placement = placed(threads, 1)
    placement.forget([0])
    placement.begin_move(0, C)
    ensure(placement, 1)
    assert placement.endpoints[0] in (A, B)


def test_an_executor_that_leaves_is_left_at_once(cluster: Cluster) -> None:
    """Spark decommissions it within a minute or two; there is no time to settle."""
    threads = Threads(A, B)
    placement = placed(threads, 2)
    cluster.leaving = frozenset({"1"})
    cluster.now_s += 6
    found = placement.to_move(2)
    assert found is not None
    assert placement.endpoints[found[0]] == A
    assert found[1] == B


def test_an_executor_without_threads_gets_one_if_others_have_two_slots(cluster: Cluster) -> None:
    """Cores that come are used."""
    threads = Threads(A)
    placement = placed(threads, 2)
    cluster.executors = [ExecutorId("host-1", "1"), ExecutorId("host-2", "2")]
    cluster.now_s += 6
    placement.to_move(2)
    assert threads.added == [ExecutorId("host-2", "2")]


def test_no_thread_is_added_that_would_have_nothing_to_do(cluster: Cluster) -> None:
    threads = Threads(A, B)
    placement = placed(threads, 2)
    cluster.executors = [ExecutorId(f"host-{n}", str(n)) for n in (1, 2, 3)]
    cluster.now_s += 6
    placement.to_move(2)
    assert threads.added == []


def test_a_leaving_executor_with_the_only_threads_gets_a_successor(cluster: Cluster) -> None:
    threads = Threads(A)
    placement = placed(threads, 1)
    cluster.executors = [ExecutorId(f"host-{n}", str(n)) for n in (1, 2)]
    cluster.leaving = frozenset({"1"})
    cluster.now_s += 6
    assert placement.to_move(1) is None
    assert threads.added == [ExecutorId("host-2", "2")]


def test_on_one_machine_spark_is_not_asked_for_executors(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots still move between its threads."""
    monkeypatch.setattr(module, "executors_of", lambda context: 1 / 0)
    threads = Threads(A, master="local[4]")
    placement = placed(threads, 2)
    beside = Endpoint("beside", A.host, 2, A.executor)
    threads.living.append(beside)
    cluster.now_s += 60
    assert placement.to_move(2) == (1, beside)
