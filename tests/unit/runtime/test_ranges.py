"""How much a batch takes from each partition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.spark.ranges import cap, listed, parts_of

parts = st.tuples(st.sampled_from("ab"), st.integers(0, 3))
offsets = st.dictionaries(parts, st.integers(0, 1_000), min_size=1)


def test_all_is_taken_while_it_fits() -> None:
    """Up to the end of every partition."""
    start, ends = {("t", 0): 5, ("t", 1): 0}, {("t", 0): 7, ("t", 1): 8}
    assert cap(start, ends, 10) == ends


def test_a_large_backlog_is_shared_fairly() -> None:
    """Each partition gives in proportion to what waits there."""
    start, ends = {("t", 0): 0, ("t", 1): 0}, {("t", 0): 900, ("t", 1): 100}
    assert cap(start, ends, 100) == {("t", 0): 90, ("t", 1): 10}


def test_a_topic_that_was_made_anew_does_not_move_backwards() -> None:
    """Its end may be before the position; nothing is there to read."""
    assert cap({("t", 0): 9}, {("t", 0): 2}, 5) == {("t", 0): 9}


@given(offsets, st.integers(1, 50), st.data())
def test_every_batch_moves_on_and_never_past_the_end(
    start: dict[tuple[str, int], int], most: int, data: st.DataObject
) -> None:
    """So that a backlog is worked off, however small batches are."""
    ends = {part: at + data.draw(st.integers(0, 200)) for part, at in start.items()}
    capped = cap(start, ends, most)
    assert all(start[part] <= at <= ends[part] for part, at in capped.items())
    assert (capped == start) == (ends == start)
    assert sum(capped.values()) - sum(start.values()) <= most + len(start)


@given(offsets)
def test_offsets_survive_as_json_lists(some: dict[tuple[str, int], int]) -> None:
    """JSON has no pairs as keys."""
    assert parts_of(listed(some)) == some
