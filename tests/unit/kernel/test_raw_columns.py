"""Records as columns, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.kernel.raw_columns import RawColumns, columns_of, listed, picked
from penstock.kernel.record_queue import RawRecord

RECORDS = [
    RawRecord("t", 1, 10 + n, 100 - n, b"k%d" % n, None if n == 2 else b"v%d" % n, headers)
    for n, headers in enumerate([(), (("h", b"1"),), (), ()])
]


@pytest.mark.parametrize("records", [RECORDS, RECORDS[2:]], ids=["with headers", "without"])
def test_records_come_back(records: list[RawRecord]) -> None:
    columns = columns_of("t", 1, records)
    assert len(columns) == len(records)
    assert [RawRecord(*each) for each in columns] == records
    assert [columns.record(place) for place in range(len(records))] == records
    assert (columns.headers is None) == (records is not RECORDS)


@pytest.mark.parametrize(("first", "after"), [(0, 4), (0, 9), (0, 3), (1, 3), (2, 2), (3, 4)])
def test_a_part_has_the_records_from_one_place_to_another(first: int, after: int) -> None:
    columns = columns_of("t", 1, RECORDS)
    assert [RawRecord(*each) for each in columns.cut(first, after)] == RECORDS[first:after]


def test_a_whole_part_is_the_columns_themselves() -> None:
    columns = columns_of("t", 1, RECORDS)
    assert columns.cut(0, 4) is columns


@pytest.mark.parametrize("places", [[2, 0, 2], [], [1]])
def test_records_are_taken_in_the_order_of_their_places(places: list[int]) -> None:
    columns = columns_of("t", 1, RECORDS)
    assert [RawRecord(*each) for each in columns.take(places)] == [RECORDS[n] for n in places]


def test_one_list_may_be_keys_and_values() -> None:
    """A part shares it as well, so that it is decoded once."""
    both: list[Any] = [b"a", b"b", b"c"]
    columns = RawColumns("t", 0, range(3), np.arange(3), both, both)
    part = columns.cut(1, 3)
    assert part.keys is part.values
    assert [*part.keys] == [b"b", b"c"]
    assert columns.cut(0, 3) is columns


def test_no_records_are_empty_columns() -> None:
    empty = columns_of("t", 3, [])
    assert (len(empty), empty.topic, empty.partition, [*empty]) == (0, "t", 3, [])


def test_times_are_plain_numbers() -> None:
    assert [type(each) for each in listed(np.arange(2))] == [int, int]
    times = [1, 2]
    assert listed(times) is times
    columns = RawColumns("t", 0, range(1), np.arange(1), [b"k"], [b"v"])
    assert type(columns.record(0).timestamp) is int


def test_a_column_may_have_its_own_way_to_pick() -> None:
    assert picked(np.array([5, 6, 7]), [2, 0]).tolist() == [7, 5]
    assert picked("abc", [2, 0]) == ["c", "a"]
