"""Which stream thread gets which slot, over random histories of threads that come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.driver.threads.assignment import assign, place_of, to_balance
from penstock.runtime.spark.exchange.stage_request import Endpoint


def thread(number: int, executor: int) -> Endpoint:
    """Two executors of these tests are on one host."""
    return Endpoint(f"thread-{number}", f"host-{executor // 2}", number, str(executor))


@dataclass
class World:
    """The threads of a cluster, the slots of one application, and what others have there."""

    threads: list[Endpoint]
    own: dict[int, Endpoint] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)

    @property
    def load(self) -> Counter[str]:
        return self.others + Counter(each.server for each in self.own.values())

    def of_executor(self, place: ExecutorId) -> int:
        return sum(self.load[each.server] for each in self.threads if place_of(each) == place)

    def balance(self, leaving: Sequence[str] = ()) -> int:
        """Move slots until the load is even; return how many moves that took."""
        for moves in range(200):
            found = to_balance(self.own, self.threads, self.load, leaving)
            if found is None:
                return moves
            slot, target = found
            assert target in self.threads
            assert self.own[slot] != target
            self.own[slot] = target
        raise AssertionError("slots move for ever")


@st.composite
def clusters(draw: st.DrawFn, *, shared: bool = False) -> World:
    executors = draw(st.lists(st.integers(0, 5), min_size=1, max_size=12))
    threads = [thread(number, executor) for number, executor in enumerate(executors)]
    busy = st.dictionaries(st.sampled_from([each.server for each in threads]), st.integers(0, 5))
    return World(threads, others=Counter(draw(busy)) if shared else Counter())


@st.composite
def running(draw: st.DrawFn, *, shared: bool = False) -> World:
    """Slots that are anywhere, as after many losses."""
    world = draw(clusters(shared=shared))
    slots = draw(st.integers(0, 20))
    world.own = {slot: draw(st.sampled_from(world.threads)) for slot in range(slots)}
    return world


nears = st.dictionaries(
    st.integers(0, 19),
    st.lists(
        st.integers(0, 7).map(lambda number: ExecutorId(f"host-{number // 2}", str(number))),
        max_size=3,
    ),
)


# Slots without a thread


@given(clusters(shared=True), st.integers(0, 20), nears)
def test_every_slot_gets_one_of_the_threads(
    world: World, slots: int, near: Mapping[int, Sequence[ExecutorId]]
) -> None:
    found = assign(range(slots), world.threads, world.load, near)
    assert list(found) == list(range(slots))
    assert set(found.values()) <= set(world.threads)


@given(clusters(), st.integers(0, 30))
def test_a_new_application_is_spread_evenly(world: World, slots: int) -> None:
    """No thread has two slots more than another."""
    world.own = assign(range(slots), world.threads, {}, {})
    loads = [world.load[each.server] for each in world.threads]
    assert max(loads) - min(loads) <= 1


@given(clusters(shared=True), st.integers(1, 20), nears)
def test_state_nearby_is_worth_one_slot_more_and_not_two(
    world: World, slots: int, near: Mapping[int, Sequence[ExecutorId]]
) -> None:
    """Otherwise one executor that was there first would have everything."""
    world.own = assign(range(slots), world.threads, world.load, near)
    fewest = min(world.load[each.server] for each in world.threads)
    for each in world.own.values():
        assert world.load[each.server] <= fewest + 2


@given(clusters(), st.integers(0, 12))
def test_a_slot_goes_back_to_where_its_state_is(world: World, slots: int) -> None:
    """After a restart of all threads nothing is read from a changelog again."""
    before = assign(range(slots), world.threads, {}, {})
    again = [Endpoint(f"new-{each.server}", *each[1:]) for each in reversed(world.threads)]
    near = {slot: [place_of(each)] for slot, each in before.items()}
    after = assign(range(slots), again, {}, near)
    assert {n: each.host for n, each in after.items()} == {
        n: each.host for n, each in before.items()
    }


def test_the_nearest_place_counts_first() -> None:
    """The list says what is nearest; any thread of a host has the folders of that host."""
    here, beside, far = thread(0, 0), thread(1, 1), thread(2, 2)
    at = {number: place_of(each) for number, each in enumerate((here, beside, far))}
    threads = [here, beside, far]
    assert assign([0], threads, {}, {0: [at[1]]}) == {0: beside}
    assert assign([0], threads, {}, {0: [at[2], at[1]]}) == {0: far}
    assert assign([0], [here, far], {}, {0: [at[1]]}) == {0: here}
    assert assign([0], threads, {"thread-2": 1}, {0: [at[2]]}) == {0: far}
    assert assign([0], threads, {"thread-2": 2}, {0: [at[2]]}) == {0: here}
    gone = ExecutorId("host-9", "9")
    assert assign([0], threads, {}, {0: [gone, at[2]]}) == {0: far}


# Slots that move


@given(running(shared=True))
def test_moves_come_to_rest_with_an_even_load(world: World) -> None:
    """First between executors, then between the threads of one; and never back and forth."""
    moves = world.balance()
    assert moves <= 2 * len(world.own)
    if not world.own:
        return
    executors = {place_of(each) for each in world.threads}
    fewest = min(map(world.of_executor, executors))
    for each in world.own.values():
        assert world.of_executor(place_of(each)) - fewest <= 1
        beside = [t for t in world.threads if place_of(t) == place_of(each)]
        least = min(world.load[other.server] for other in beside)
        assert world.load[each.server] - least <= 1


@given(clusters(), st.integers(0, 20))
def test_a_balanced_application_stays_where_it_is(world: World, slots: int) -> None:
    world.own = assign(range(slots), world.threads, {}, {})
    world.balance()
    before = dict(world.own)
    assert world.balance() == 0
    assert world.own == before


@given(running(shared=True), st.sets(st.integers(0, 5).map(str)))
def test_an_executor_that_leaves_is_left(world: World, leaving: set[str]) -> None:
    """As long as there is another one; nothing is put onto it again."""
    staying = [each for each in world.threads if each.executor not in leaving]
    was_there = sum(each.executor in leaving for each in world.own.values())
    moves = world.balance(sorted(leaving))
    if staying:
        assert moves >= was_there
        assert all(each.executor not in leaving for each in world.own.values())
    else:
        assert moves == 0


@given(running(), st.integers(0, 11))
def test_the_slots_of_a_lost_thread_are_all_that_starts_elsewhere(
    world: World, number: int
) -> None:
    """What lives keeps its state and its memory."""
    lost = world.threads.pop(number % len(world.threads))
    if not world.threads:
        return
    kept = {slot: each for slot, each in world.own.items() if each != lost}
    missing = sorted(set(world.own) - set(kept))
    world.own = kept
    found = assign(missing, world.threads, world.load, {})
    assert set(found) == set(missing)
    assert lost not in found.values()


def test_without_slots_or_threads_nothing_moves() -> None:
    only = thread(0, 0)
    assert to_balance({}, [only], {}) is None
    assert to_balance({0: only, 1: only}, [], {}) is None
    assert to_balance({0: only, 1: only}, [only], {"thread-0": 2}) is None
