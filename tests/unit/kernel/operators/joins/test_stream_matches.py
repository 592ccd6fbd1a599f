"""Pairs of a stream-stream join over columns are those that a loop over all records finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.operators.joins import stream_matches
from penstock.kernel.operators.joins.stream_matches import (
    STORED,
    Found,
    Seekers,
    matches,
    times_before,
)

#: Key, time and place; seekers have the two ends of their window and the oldest time, too.
_PLACES = st.permutations(range(24))
_SEEKERS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9), st.integers(-3, 9)),
    max_size=12,
)
_FOUND = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.booleans()), max_size=12)


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@given(seekers=_SEEKERS, found=_FOUND, places=_PLACES)
def test_pairs_are_those_of_a_loop(
    seekers: list[tuple[int, int, int, int]],
    found: list[tuple[int, int, bool]],
    places: list[int],
) -> None:
    """In the order of the seekers, then in that of the store: by time, then as they were stored."""
    own = sorted(places[: len(seekers)])
    # What was stored before the batch comes first.
    found = sorted(found, key=lambda each: not each[2])
    free = iter(sorted(places[len(seekers) :]))
    other = [STORED if is_stored else next(free) for _, _, is_stored in found]
    expected = [
        (who, what)
        for who, (key, first, last, oldest) in enumerate(seekers)
        for what, (_, time, _) in sorted(enumerate(found), key=lambda each: each[1][1])
        if found[what][0] == key
        and first <= time <= last
        and time >= oldest
        and other[what] < own[who]
    ]
    pairs = matches(
        Seekers(*(array([each[n] for each in seekers]) for n in (0, 1, 2)), array(own),
                array([each[3] for each in seekers])),
        Found(array([each[0] for each in found]), array([each[1] for each in found]),
              array(other)),
    )  # fmt: skip
    assert [*zip(pairs.seekers.tolist(), pairs.found.tolist(), strict=True)] == expected


def one_of_each(time: int = 5) -> tuple[Seekers, Found]:
    zero, at = array([0]), array([time])
    return Seekers(zero, zero, at, array([1]), zero), Found(zero, at, zero)


def test_too_many_pairs_are_left_to_the_record_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hold all of them at once."""
    assert len(matches(*one_of_each()).seekers) == 1
    monkeypatch.setattr(stream_matches, "_MOST_PAIRS", 0)
    with pytest.raises(NotProvenError, match="too many pairs"):
        matches(*one_of_each())


def test_times_that_are_too_far_apart_are_left_to_the_record_executor() -> None:
    """Key and time are one number."""
    seekers, _ = one_of_each()
    far = Found(array([0, 4]), array([0, 2**61]), array([0, 0]))
    with pytest.raises(NotProvenError, match="too far apart"):
        matches(seekers, far)
    near = Found(array([0, 4]), array([0, 2**40]), array([0, 0]))
    assert len(matches(seekers, near).seekers) == 1


def test_time_before_a_moment_is_the_highest_so_far() -> None:
    """A record at that very place is not before it."""
    found = times_before(array([2, 5, 7]), array([30, 10, 50]), array([0, 2, 3, 6, 7, 8]), 20)
    assert found.tolist() == [20, 20, 30, 30, 30, 50]
    assert times_before(array([2]), array([5]), array([9]), 20).tolist() == [20]
