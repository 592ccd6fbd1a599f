"""Folding a grouped stream per sliding window."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.model.change import Change
from penstock.model.windows.definitions import SlidingWindows
from penstock.topology.nodes import SlidingAggregate
from tests.unit.kernel.single_node import (
    Forwarded,
    SingleNode,
    joined,
    window_store,
    windowed,
)

HEADERS = (("h", b""),)


def start(
    difference_ms: int = 10,
    grace_ms: int = 1_000,
    *,
    retention_ms: int = 10_000,
    **options: Any,
) -> SingleNode:
    node = SlidingAggregate(
        name="n",
        store="store",
        windows=SlidingWindows(difference_ms, grace_ms),
        initializer=lambda: "",
        fn=joined,
        **options,
    )
    return SingleNode(node, window_store(difference_ms, retention_ms))


def rows(node: SingleNode, key: str = "k") -> dict[int, str]:
    with node.stores["store"].all() as found:
        return {each.start: row.value for each, row in found if each.key == key}


def test_a_single_record_has_its_left_window_only() -> None:
    """The window that ends with the record; both bounds are inclusive."""
    node = start()
    assert node.pipe("k", "1", 20, HEADERS) == [
        Forwarded(windowed("k", 10, 20), Change("1", None), 20, HEADERS)
    ]


@pytest.mark.parametrize(("second", "together"), [(29, True), (30, True), (31, False)])
def test_records_exactly_a_difference_apart_share_a_window(second: int, together: bool) -> None:
    """Trap: both bounds of a sliding window are inclusive."""
    node = start()
    node.pipe("k", "1", 20)
    node.pipe("k", "2", second)
    assert ("1,2" in rows(node).values()) is together


def test_a_second_record_makes_the_first_ones_right_window() -> None:
    """The right window starts one millisecond after its record, and comes first."""
    node = start()
    node.pipe("k", "1", 20)
    assert [(f.key, f.value.new) for f in node.pipe("k", "2", 25)] == [
        (windowed("k", 21, 31), "2"),
        (windowed("k", 15, 25), "1,2"),
    ]


def test_a_record_between_two_others_gets_a_right_window_of_the_later_one() -> None:
    """The window that the later record made is copied, with its time and as a first value."""
    node = start(sends_old=True)
    node.pipe("k", "1", 20)
    node.pipe("k", "3", 26)
    found = node.pipe("k", "2", 22)
    assert (windowed("k", 23, 33), Change("3", None), 26) in [f[:3] for f in found]


def test_records_of_the_same_time_need_no_new_windows() -> None:
    """All windows exist already; each is updated once."""
    node = start()
    node.pipe("k", "1", 20)
    assert [(f.key, f.value.new) for f in node.pipe("k", "2", 20)] == [
        (windowed("k", 10, 20), "1,2")
    ]


def test_early_records_share_the_window_that_starts_at_zero() -> None:
    """Windows have no negative start."""
    node = start()
    assert [f.key for f in node.pipe("k", "1", 3)] == [windowed("k", 0, 10)]
    assert [(f.key, f.value.new) for f in node.pipe("k", "2", 7)] == [
        (windowed("k", 4, 14), "2"),
        (windowed("k", 0, 10), "1,2"),
    ]


@pytest.mark.parametrize(("stream_time", "is_open"), [(34, True), (35, True), (36, False)])
def test_a_window_closes_after_its_end_plus_grace(stream_time: int, is_open: bool) -> None:
    """Trap: closed iff end < stream time - grace; at equality it is still open."""
    node = start(grace_ms=5)
    node.pipe("k", "1", 30)
    node.pipe("other", "v", stream_time)
    node.pipe("k", "late", 25)
    assert rows(node)[20] == ("1,late" if is_open else "1")


@pytest.mark.parametrize(("stream_time", "drops"), [(40, 1), (41, 1)])
def test_a_record_that_is_too_late_for_every_window_is_one_drop(
    stream_time: int, drops: int
) -> None:
    """Its left window is closed at 40; at 41 its right window would be too."""
    node = start(grace_ms=5)
    node.pipe("other", "v", stream_time)
    assert node.pipe("k", "late", 25) == []
    assert node.drops == ["expired-window"] * drops


@pytest.mark.parametrize(("key", "value"), [(None, "v"), ("k", None)])
def test_null_keys_and_null_values_are_dropped(key: Any, value: Any) -> None:
    """Trap: sliding windows drop null values, other windows do not."""
    node = start()
    assert node.pipe(key, value, 20) == []
    assert node.drops == ["null-key-or-value"]


def test_a_time_difference_of_zero_fails_with_the_first_record() -> None:
    """As in Java, where such a window cannot be made."""
    with pytest.raises(InvalidArgumentError, match="time difference of 0 ms"):
        start(difference_ms=0).pipe("k", "v", 5)


@pytest.mark.parametrize(("stream_time", "is_emitted"), [(35, False), (36, True), (37, True)])
def test_a_final_result_is_emitted_when_its_window_closes(
    stream_time: int, is_emitted: bool
) -> None:
    """Trap: sliding windows include their end, so they close one millisecond later."""
    node = start(grace_ms=5, emit_final=True)
    node.pipe("k", "1", 30)
    assert node.out == []
    found = node.pipe("other", "v", stream_time, HEADERS)
    expected = [Forwarded(windowed("k", 20, 30), Change("1", None), 30, HEADERS)]
    assert found == (expected if is_emitted else [])


def test_early_records_emit_nothing_final() -> None:
    """As in Java, where the window around zero is handled apart."""
    node = start(difference_ms=100, grace_ms=0, emit_final=True)
    node.pipe("k", "1", 0)
    node.pipe("k", "2", 99)
    assert node.out == []
    assert [f.key.start for f in node.pipe("k", "3", 102)] == [0, 1]


@given(st.lists(st.integers(10, 60), min_size=1, max_size=8))
def test_every_window_holds_exactly_the_records_within_it(timestamps: list[int]) -> None:
    """Whatever the order of arrival, each stored window has all its records and no other."""
    node = start()
    for timestamp in timestamps:
        node.pipe("k", str(timestamp), timestamp)
    for first, value in rows(node).items():
        within = [t for t in timestamps if first <= t <= first + 10]
        assert sorted(map(int, value.split(","))) == sorted(within)
    # Each record's left window exists, so that no combination of neighbours is missing.
    assert {t - 10 for t in timestamps} <= set(rows(node))
