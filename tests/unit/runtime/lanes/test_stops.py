"""Lanes stop at agreed offsets: ``lanes.stops``, and ``lanes.cut_part`` over lanes that run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.spark.driver.lanes.cut_part import CutPart
from penstock.runtime.spark.driver.lanes.stops import Stops
from tests.unit.runtime.lanes.lane_world import World, two_stages

ZERO, ONE = ("in", 0), ("in", 1)


class Runner:
    """Holds the lanes of a world as ``BatchRunner`` does."""

    def __init__(self, world: World) -> None:
        self.stops = world.shared.stops
        self._world = world

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[int | None]:
        world = self._world
        with world.gate.closed(timeout_s, drains=True) as is_quiet:
            yield 7 if is_quiet and not world.internal.has_leftover() else None


def test_a_lane_reads_up_to_its_stop_and_not_beyond() -> None:
    """Partitions without a stop are read as before; a lane at its stop asks for nothing."""
    world = World(partitions=2)
    world.quiet()
    world.shared.stops.move({ZERO: 3})
    world.send(in_0=5, in_1=2)
    (first,) = world.step()
    assert first.ranges == {ZERO: (0, 3), ONE: (0, 2)}
    assert world.step() == []
    world.shared.stops.lift()
    (second,) = world.step()
    assert second.ranges[ZERO] == (3, 5)


def test_what_is_frozen_includes_the_batch_under_way() -> None:
    """Its records are on their way to stores, so a cut cannot be before its end."""
    changed = threading.Condition(threading.RLock())
    stops = Stops({ZERO: 4, ONE: 0, ("other", 0): 9}, changed)
    stops.admit(0, {ZERO: (4, 8)})
    assert stops.freeze(["in"]) == {ZERO: 8, ONE: 0}
    assert stops.admit(0, {ZERO: (8, 12), ("other", 0): (9, 11)}) == {
        ZERO: (8, 8),
        ("other", 0): (9, 11),
    }
    stops.move({ZERO: 10})
    assert stops.admit(0, {ZERO: (8, 12)}) == {ZERO: (8, 10)}


def test_a_batch_that_may_read_on_is_waited_for() -> None:
    """Nobody knows its end before; later batches end where they are planned."""
    changed, positions = threading.Condition(threading.RLock()), {ZERO: 4}
    stops = Stops(positions, changed)
    stops.admit(0, {ZERO: (4, 8)})
    assert stops.may_read_on(0)
    frozen: list[dict[tuple[str, int], int]] = []
    asking = threading.Thread(target=lambda: frozen.append(stops.freeze(["in"])))
    asking.start()
    while not stops._is_freezing:
        assert asking.is_alive()
    assert not stops.may_read_on(1)
    with changed:
        positions[ZERO] = 11
    stops.settle(0)
    asking.join(30)
    assert frozen == [{ZERO: 11}]
    assert not stops.may_read_on(0)
    stops.lift()
    assert stops.may_read_on(0)


def test_an_application_is_held_where_it_contains_exactly_what_was_asked_for() -> None:
    """All lanes are at the stops, and nothing is on its way in repartition topics."""
    world = World(two_stages, partitions=3, slots=3)
    part = CutPart(Runner(world))
    world.send(in_0=40, in_1=7, in_2=3)
    with world.running():
        frozen = part.freeze(part.topics)
        wanted = {place: max(at, 7 * (place[1] == 0)) for place, at in frozen.items()}
        part.stop(wanted)
        world.send(in_1=9, in_2=9)
        with part.hold(30.0) as number:
            assert number == 7
            assert world.positions == wanted
            assert not world.internal.has_leftover()
        part.lift()
        world.wait_for(lambda: world.positions["in", 1] == 16)


def test_an_application_that_does_not_come_there_is_not_held() -> None:
    """For example, one of its partitions waits for a broker; the others go on afterwards."""
    world = World(partitions=2, slots=2)
    world.away = {ONE}
    part = CutPart(Runner(world))
    with world.running():
        part.freeze(part.topics)
        part.stop({ONE: 5})
        with part.hold(0.05) as number:
            assert number is None
        part.lift()
        world.send(in_0=5)
        world.wait_for(lambda: world.positions[ZERO] == 5)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from("afml"), st.integers(0, 3), st.integers(1, 9))))
def test_no_lane_ever_reads_beyond_what_was_frozen_or_moved(
    steps: list[tuple[str, int, int]],
) -> None:
    """Whatever comes between planning and reading, until the stops are lifted."""
    positions = {ZERO: 0}
    stops = Stops(positions, threading.Condition(threading.RLock()))
    limit: int | None = None
    for what, back, size in steps:
        if what == "a":
            _, end = stops.admit(0, {ZERO: (positions[ZERO], positions[ZERO] + size)})[ZERO]
            assert limit is None or end <= limit
            # The slot may stop early.
            positions[ZERO] = max(end - back, positions[ZERO])
        elif what == "f":
            limit = stops.freeze(["in"])[ZERO]
            assert limit >= positions[ZERO]
        elif what == "m" and limit is not None:
            limit += size
            stops.move({ZERO: limit})
        else:
            stops.lift()
            limit = None
