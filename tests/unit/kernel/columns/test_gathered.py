"""The pieces of a batch come together again in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.kernel.columns.batch import Origins
from penstock.kernel.columns.cache_handoff import contexts_at, last_contexts
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped
from penstock.kernel.columns.store_rows import NEVER, read_rows, written_rows
from penstock.serde.primitives import StringSerde


def numbers(*given: int) -> Any:
    return np.array(given, np.int64)


def two_pieces(*, with_headers: bool = True) -> Gathered:
    gathered = Gathered()
    gathered.add(
        [b"a", b"b"], [[1, 2], [3, 4]], numbers(5, 6), None, numbers(0, 5),
        key_values=["A", "B"], origins=Origins("t", 2, numbers(10, 11)),
    )  # fmt: skip
    gathered.add(
        [b"a"], [[7], [8]], numbers(4), [(("h", b"1"),)] if with_headers else None, numbers(5),
        key_values=["A"], origins=Origins("t", 2, numbers(12)),
    )  # fmt: skip
    return gathered


def test_pieces_are_joined() -> None:
    gathered = two_pieces()
    assert len(gathered) == 3
    assert [*gathered.keys] == [b"a", b"b", b"a"]
    assert gathered.items == [[1, 2, 7], [3, 4, 8]]
    assert gathered.timestamps.tolist() == [5, 6, 4]
    assert gathered.starts.tolist() == [0, 5, 5]
    assert gathered.key_values == ["A", "B", "A"]
    assert gathered.headers == [(), (), (("h", b"1"),)]
    origins = gathered.origins
    assert origins is not None
    assert (origins.topic, origins.partition, origins.offsets.tolist()) == ("t", 2, [10, 11, 12])


def test_what_no_record_has_is_none() -> None:
    assert two_pieces(with_headers=False).headers is None
    bare = Gathered()
    assert len(bare) == 0
    bare.add([b"a"], [], numbers(1), None)
    assert (bare.headers, bare.origins, bare.items) == (None, None, [])


@pytest.mark.parametrize("source", [("u", 2), ("t", 1)])
def test_origins_of_several_partitions_are_told_record_by_record(source: tuple[str, int]) -> None:
    gathered = two_pieces()
    gathered.add([b"c"], [[9], [9]], numbers(9), None, origins=Origins(*source, numbers(1)))
    gathered.add([b"d"], [[9], [9]], numbers(9), None, origins=gathered.origins.at(numbers(3)))
    origins = gathered.origins
    assert origins is not None
    assert [*origins.each_source()] == [("t", 2), ("t", 2), ("t", 2), source, source]
    assert origins.offsets.tolist() == [10, 11, 12, 1, 1]
    some = origins.at(numbers(4, 0))
    assert [*some.each_source()] == [source, ("t", 2)]
    contexts = contexts_at(gathered, numbers(1, 3))
    assert [(each.topic, each.partition) for each in contexts] == [("t", 2), source]
    assert [*two_pieces().origins.each_source()] == [("t", 2)] * 3


def test_origins_are_unknown_if_those_of_some_records_are() -> None:
    gathered = two_pieces()
    gathered.add([b"c"], [[9], [9]], numbers(9), None)
    assert gathered.origins is None


@pytest.mark.parametrize("with_headers", [True, False])
def test_contexts_are_those_of_the_last_records(*, with_headers: bool) -> None:
    """Of each key; its time is that of the record, which may be older than one before it."""
    gathered = two_pieces(with_headers=with_headers)
    a, b = last_contexts(gathered, grouped(gathered.keys))
    assert (a.timestamp, a.offset, a.partition, a.topic) == (4, 12, 2, "t")
    assert (b.timestamp, b.offset, b.partition, b.topic) == (6, 11, 2, "t")
    assert (a.headers, b.headers) == ((("h", b"1"),) if with_headers else (), ())


def test_rows_are_read_as_they_were_written() -> None:
    rows = written_rows(numbers(0, -1, 1 << 40), [b"a", b"", b"ccc"])
    assert rows[0] == bytes(8) + b"a"
    values, times = read_rows(rows, StringSerde(), lambda: "new")
    assert (values, times.tolist()) == (["a", "", "ccc"], [0, -1, 1 << 40])


def test_rows_that_do_not_exist_have_a_first_value_and_no_time() -> None:
    rows = [None, *written_rows(numbers(7), [b"a"]), None]
    values, times = read_rows(rows, StringSerde(), lambda: "new")
    assert (values, times.tolist()) == (["new", "a", "new"], [NEVER, 7, NEVER])
    values, times = read_rows([None, None], StringSerde(), lambda: 0)
    assert (values, times.tolist()) == ([0, 0], [NEVER, NEVER])


@pytest.mark.parametrize("first", [list, dict])
def test_first_values_that_can_change_are_not_shared(first: Any) -> None:
    rows = [None, None, *written_rows(numbers(7), [b"a"])]
    for given in (rows, rows[:2]):
        values, _ = read_rows(given, StringSerde(), first)
        assert values[:2] == [first(), first()]
        assert values[0] is not values[1]
