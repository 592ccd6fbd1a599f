"""How much of each partition a batch takes."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.spark.ranges import Part, cap, cap_by_time

EVENTS, TABLE = ("events", 0), ("table", 0)


def offsets_at(times: dict[Part, list[int]]) -> Callable[[int], dict[Part, int]]:
    """What a broker says: the first offset with this time or a later one, else the end."""

    def find(moment: int) -> dict[Part, int]:
        return {
            part: next((n for n, at in enumerate(log) if at >= moment), len(log))
            for part, log in times.items()
        }

    return find


def ends(times: dict[Part, list[int]]) -> dict[Part, int]:
    return {part: len(log) for part, log in times.items()}


def test_a_small_rest_is_taken_whole() -> None:
    """No end is looked for where all fits."""
    times = {EVENTS: [5, 6], TABLE: [1]}
    taken = cap_by_time({EVENTS: 0, TABLE: 0}, ends(times), 3, offsets_at(times))
    assert taken == ends(times)


def test_older_rows_of_a_table_come_before_events() -> None:
    """A fair share of each would run events ahead of rows that were there before them."""
    times = {EVENTS: list(range(1_000, 1_900)), TABLE: list(range(100))}
    start = {EVENTS: 0, TABLE: 0}
    assert cap(start, ends(times), 100)[TABLE] < 100
    assert cap_by_time(start, ends(times), 100, offsets_at(times)) == {EVENTS: 0, TABLE: 100}


def test_more_records_of_one_moment_than_a_batch_holds_are_shared_out() -> None:
    """Progress is made even if time cannot tell the records apart."""
    times = {EVENTS: [9] * 50, TABLE: [7] * 50}
    taken = cap_by_time({EVENTS: 0, TABLE: 0}, ends(times), 10, offsets_at(times))
    assert taken == {EVENTS: 0, TABLE: 10}


@given(
    st.lists(st.integers(0, 50), max_size=30).map(sorted),
    st.lists(st.integers(0, 50), max_size=30).map(sorted),
    st.integers(1, 20),
)
def test_batches_end_and_are_in_order_of_time(
    events: list[int], table: list[int], most: int
) -> None:
    """Batch after batch takes something, and nothing newer before something older."""
    times = {EVENTS: events, TABLE: table}
    at = {EVENTS: 0, TABLE: 0}
    newest = 0
    while at != ends(times):
        taken = cap_by_time(at, ends(times), most, _from(times, at))
        batch = [t for part, log in times.items() for t in log[at[part] : taken[part]]]
        assert batch
        assert min(batch) >= newest
        assert all(taken[part] >= at[part] for part in at)
        newest, at = max(batch), taken


def _from(times: dict[Part, list[int]], at: dict[Part, int]) -> Callable[[int], dict[Part, int]]:
    find = offsets_at(times)
    return lambda moment: {part: max(n, at[part]) for part, n in find(moment).items()}
