"""Rows have one order, over all partitions of a store."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.serving.question import row_order

KEYS = st.binary(max_size=4)
TIMES = st.integers(0, 2**62)


@given(KEYS, KEYS)
def test_entries_are_ordered_by_their_serialized_keys(one: bytes, other: bytes) -> None:
    assert (row_order(one) < row_order(other)) == (one < other)


@given(KEYS, TIMES, KEYS, TIMES)
def test_windows_are_ordered_by_start_then_key(
    key: bytes, start: int, other: bytes, later: int
) -> None:
    assert (row_order(key, start) < row_order(other, later)) == ((start, key) < (later, other))


@given(st.lists(st.tuples(KEYS, TIMES, TIMES), unique=True))
def test_no_two_sessions_share_a_place(sessions: list[tuple[bytes, int, int]]) -> None:
    assert len({row_order(*each) for each in sessions}) == len(sessions)
