"""Keys that come again are found, and numbered in the order that is asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.grouping import grouped, grouped_in_order, grouped_windows
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.rules.table_rule import LastRows

#: Short ones, of which some end in zeros, and long ones with much or little in common.
KEY = st.binary(max_size=3) | st.binary(max_size=12)
KEYS = st.lists(KEY, min_size=1, max_size=30) | st.lists(
    KEY.map(lambda key: b"customer-" + key), min_size=1, max_size=30
)


@given(KEYS)
def test_every_record_has_the_number_of_its_key(keys: list[bytes]) -> None:
    """Whatever the order of the keys is, and each of them is there once."""
    for groups in (grouped(keys), grouped_in_order(keys)):
        assert [groups.keys[code] for code in groups.codes.tolist()] == keys
        assert sorted(groups.keys) == sorted(set(keys))


@given(KEYS)
def test_keys_in_order_lie_as_in_a_store(keys: list[bytes]) -> None:
    """By their bytes, of which none is a sign."""
    assert grouped_in_order(keys).keys == sorted(set(keys))


def test_keys_that_no_record_has_are_left_out() -> None:
    """A piece of a column knows the keys of all of it."""
    keys = DictionaryBytes(np.array([3, 1, 3]), [b"d", b"c", b"b", b"a"])
    groups = grouped_in_order(keys)
    assert (groups.keys, groups.codes.tolist()) == ([b"a", b"c"], [0, 1, 0])


@given(KEYS)
def test_the_row_of_a_key_and_its_turn_are_those_of_single_records(keys: list[bytes]) -> None:
    """``LastRows`` says it of records that come one by one, ``Groups`` of a whole batch."""
    rows: LastRows[bytes, int] = LastRows()
    for place, key in enumerate(keys):
        rows.put(key, place)
    for groups in (grouped(keys), grouped_in_order(keys)):
        order = groups.in_turn().tolist()
        found = [(groups.keys[number], int(groups.last_places()[number])) for number in order]
        assert found == [*rows.items()]


@given(st.lists(st.tuples(KEY, st.sampled_from([0, 5, 10])), min_size=1, max_size=30))
def test_windows_of_keys_are_in_the_order_of_their_last_records(
    records: list[tuple[bytes, int]],
) -> None:
    """A key has a row in each of its windows."""
    rows: LastRows[tuple[bytes, int], int] = LastRows()
    for place, record in enumerate(records):
        rows.put(record, place)
    keys, starts = zip(*records, strict=True)
    groups, group_starts = grouped_windows(grouped(keys), np.array(starts))
    assert [*zip(groups.keys, group_starts.tolist(), strict=True)] == [*rows]
    assert groups.last_places().tolist() == [*rows.values()]
    at = [(groups.keys[code], int(group_starts[code])) for code in groups.codes.tolist()]
    assert at == records
