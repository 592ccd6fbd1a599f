"""Keys that come again are found, and numbered in the order that is asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.grouping import grouped, grouped_in_order
from penstock.model.columns.dictionary_bytes import DictionaryBytes

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
