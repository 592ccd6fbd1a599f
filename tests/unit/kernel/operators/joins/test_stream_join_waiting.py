"""Records of a left or outer join that wait, as batches over columns know them."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.kernel.columns.effects import Effects
from penstock.kernel.operators.joins.stream_join_waiting import Row, Waiting
from penstock.kernel.services import JoinClock
from penstock.model.rules.stream_join_rule import StreamJoinRule
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.outer_join import BulkWaiting, waiting_key
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench

WINDOWS = ps.JoinWindows.of_time_difference_and_grace("10ms", "5ms")


@pytest.fixture
def rows() -> BulkWaiting:
    bench = Bench(StoreSpec(name="store", kind=StoreKind.OUTER_JOIN, persistent=False))
    found: BulkWaiting = bench.store.bulk
    return found


@pytest.fixture
def clock() -> JoinClock:
    return JoinClock()


def outer(clock: JoinClock, rows: BulkWaiting | None, now: int = 0, interval: int = 0) -> Waiting:
    rules = {
        side: StreamJoinRule.of(WINDOWS, is_left=side, is_outer=True) for side in (True, False)
    }
    waiting = Waiting(rules, clock, now, interval)
    if rows is not None:
        waiting.load(rows)
    return waiting


def row(is_left: bool, time: int, key: bytes | None = b"k", pairs: int = 0, newest: int = 0) -> Row:
    return Row(is_left, time, time, time + 10, max(time, newest), key, b"v%d" % time, 0, pairs)


def apply(waiting: Waiting) -> None:
    effects = Effects()
    waiting.finish(effects)
    effects.apply(effects._dropped)


def test_record_waits_until_both_sides_cannot_find_it_any_more(
    rows: BulkWaiting, clock: JoinClock
) -> None:
    """Its window and the grace period have to pass, and only records that are not late emit it."""
    waiting = outer(clock, rows)
    waiting.take(row(True, 10), [])
    waiting.take(row(False, 25, b"x"), [])
    assert waiting.results.count == 0
    waiting.take(row(False, 20, b"y", newest=26), [])
    assert waiting.results.count == 0
    waiting.take(row(False, 26, b"z"), [])
    ((number, closed),) = waiting.results.closed
    assert (number, closed[:4], closed.by.timestamp) == (0, (10, True, b"k", b"v10"), 26)
    apply(waiting)
    assert [key for key, _ in rows.read()] == [
        waiting_key(20, False, b"y"), waiting_key(25, False, b"x"), waiting_key(26, False, b"z"),
    ]  # fmt: skip
    # The time of the last entry that was looked at, as in the record executor.
    assert clock.min_time == 25


def test_partner_that_comes_in_time_ends_the_waiting(rows: BulkWaiting, clock: JoinClock) -> None:
    first = outer(clock, rows)
    first.take(row(True, 10), [])
    apply(first)
    assert len(rows) == 1
    second = outer(clock, rows)
    second.take(row(False, 12, pairs=1), [10])
    assert second.results.pairs[False] == [(0, 0)]
    apply(second)
    assert rows.read() == []


def test_record_whose_window_has_passed_does_not_wait(rows: BulkWaiting, clock: JoinClock) -> None:
    waiting = outer(clock, rows)
    waiting.take(row(True, 10, newest=21), [])
    assert waiting.results.alone[True] == [(0, 10)]


def test_record_without_a_key_never_waits(rows: BulkWaiting, clock: JoinClock) -> None:
    waiting = outer(clock, rows)
    waiting.take(row(True, 10, None), [])
    assert waiting.results.alone[True] == [(0, 10)]


def test_without_a_store_nothing_waits(clock: JoinClock) -> None:
    """Windows of the older kind have none."""
    waiting = outer(clock, None)
    waiting.take(row(True, 10), [])
    waiting.take(row(False, 99), [])
    assert waiting.results.alone == {True: [(0, 10)], False: [(1, 99)]}
    apply(waiting)
    assert clock.min_time == MAX_LONG


@pytest.mark.parametrize(("now", "emitted"), [(999, 0), (1_000, 1)])
def test_emissions_keep_their_interval(
    rows: BulkWaiting, clock: JoinClock, now: int, emitted: int
) -> None:
    """The next one is an interval after the last, whatever the batches."""
    clock.next_time_to_emit = 1_000
    waiting = outer(clock, rows, now, 500)
    waiting.take(row(True, 10), [])
    waiting.take(row(False, 50, b"x"), [])
    assert len(waiting.results.closed) == emitted
    apply(waiting)
    assert clock.next_time_to_emit == (1_500 if emitted else 1_000)


def test_values_of_one_key_and_time_wait_and_leave_together(
    rows: BulkWaiting, clock: JoinClock
) -> None:
    waiting = outer(clock, rows)
    for data in (b"1", b"2"):
        waiting.take(row(True, 10)._replace(data=data), [])
    waiting.take(row(False, 50, b"x"), [])
    assert [closed.data for _, closed in waiting.results.closed] == [b"1", b"2"]
    assert len(waiting._held) == 1
