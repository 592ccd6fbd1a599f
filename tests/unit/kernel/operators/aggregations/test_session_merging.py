"""Sessions of a batch are those that a plain computation finds.

What ``session_aggregate_columns`` makes of them is held to single records in ``tests/properties``.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.operators.aggregations.session_merging import (
    GONE,
    AllChanges,
    LastChanges,
    SessionMerging,
    Stored,
    by_key,
)
from penstock.model.windows.session_rule import SessionRule

RULE = SessionRule(gap_ms=10, grace_ms=5)
#: Number of the key, timestamp, stream time.
Records = list[tuple[int, int, int]]


def merging(*, tells_old: bool = False) -> SessionMerging:
    """States are the places of the records, in the order in which they were merged."""
    return SessionMerging(
        RULE, tuple, lambda state, place: (*state, place),
        lambda place, one, other: (*one, *other), tells_old=tells_old,
    )  # fmt: skip


def records_of(times: list[tuple[int, int]]) -> Records:
    found, now = [], -1
    for code, time in times:
        now = max(now, time)
        found.append((code, time, now))
    return found


TIMES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12).map(lambda n: n * 5)), max_size=30)


@given(times=TIMES)
def test_each_record_is_in_the_session_of_all_that_are_near(times: list[tuple[int, int]]) -> None:
    """Late records are left out; the others are grouped by gaps of more than 10 ms."""
    changes = LastChanges()
    merged = merging().run(by_key(2, ()), records_of(times), changes)
    found = {session: state for session, (_, state) in changes.rows.items() if state is not GONE}
    kept = sorted(place for state in found.values() for place in state)
    assert len(kept) + merged.late == len(times)
    assert len(merged.states) == len(kept)
    expected: dict[Any, list[int]] = {}
    for code in (0, 1):
        group: list[int] = []
        for place in sorted((p for p in kept if times[p][0] == code), key=lambda p: times[p][1]):
            if group and times[place][1] - times[group[-1]][1] > RULE.gap_ms:
                expected[code, times[group[0]][1], times[group[-1]][1]] = group
                group = []
            group.append(place)
        if group:
            expected[code, times[group[0]][1], times[group[-1]][1]] = group
    assert {session: sorted(state) for session, state in found.items()} == {
        session: sorted(group) for session, group in expected.items()
    }


def test_record_merges_the_sessions_around_it_earliest_first() -> None:
    """Both are gone then, and the new one is after them in the order of changes."""
    stored = [Stored((0, 30, 40), ("late",)), Stored((0, 5, 15), ("early",))]
    changes = LastChanges()
    merged = merging().run(by_key(1, stored), [(0, 22, 40)], changes)
    assert merged.late == 0
    assert [*changes.rows.items()] == [
        ((0, 5, 15), (0, GONE)),
        ((0, 30, 40), (0, GONE)),
        ((0, 5, 40), (0, ("early", "late", 0))),
    ]


@pytest.mark.parametrize(("time", "late"), [(24, 1), (25, 0), (26, 0)])
def test_record_is_late_if_its_session_has_closed(time: int, late: int) -> None:
    """A session closes the gap and the grace after its end, which stream time has to pass."""
    assert merging().run(by_key(1, ()), [(0, time, 40)], LastChanges()).late == late


def test_old_record_is_in_time_for_an_open_session() -> None:
    stored = [Stored((0, 20, 30), ("open",))]
    changes = LastChanges()
    assert merging().run(by_key(1, stored), [(0, 11, 40)], changes).late == 0
    assert (0, 11, 30) in changes.rows


@pytest.mark.parametrize("tells_old", [False, True])
def test_session_of_one_timestamp_is_overwritten(*, tells_old: bool) -> None:
    """No tombstone says that it is gone; its old value is told if that is wanted."""
    changes = AllChanges(stream_time=0, retention_ms=100)
    merging(tells_old=tells_old).run(by_key(1, ()), [(0, 7, 7), (0, 7, 7)], changes)
    assert [(each.session, each.state, each.old) for each in changes.updates] == [
        ((0, 7, 7), (0,), None),
        ((0, 7, 7), (0, 1), (0,) if tells_old else None),
    ]


def test_store_without_a_cache_hides_old_sessions_at_once() -> None:
    """A write of another key makes them too old. A cache would still show them."""
    stored = [Stored((0, 5, 15), ("hidden",))]
    records = [(1, 31, 31), (0, 17, 31)]
    uncached = AllChanges(stream_time=15, retention_ms=16)
    merging().run(by_key(2, stored), records, uncached)
    assert [each.session for each in uncached.updates] == [(1, 31, 31), (0, 17, 17)]
    cached = LastChanges()
    merging().run(by_key(2, stored), records, cached)
    assert [*cached.rows] == [(1, 31, 31), (0, 5, 15), (0, 5, 17)]


def test_next_record_gets_the_state_as_the_store_returns_it() -> None:
    changes = LastChanges()
    merging().run(by_key(1, ()), [(0, 1, 1), (0, 2, 2)], changes, lambda state: ("read", *state))
    assert changes.rows[0, 1, 2] == (1, ("read", 0, 1))


def test_sessions_that_overlap_in_the_store_are_left_to_single_records() -> None:
    with pytest.raises(NotProvenError, match="overlap"):
        by_key(1, [Stored((0, 0, 10), ()), Stored((0, 10, 20), ())])
    assert len(by_key(2, [Stored((0, 0, 10), ()), Stored((1, 10, 20), ())])) == 2
