"""Hashes of a column are those of its items, however long these are."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.columns.value_hashes import murmur3_128_each
from penstock.model.hashing import murmur3_128


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 300])
def test_every_length_has_the_hash_of_single_items(count: int) -> None:
    random = Random(count)
    data = [random.randbytes(random.choice((0, 7, 15, 16, 17, 31, 40, 80))) for _ in range(count)]
    assert murmur3_128_each(data) == [*map(murmur3_128, data)]


def test_a_few_items_that_are_much_longer_change_nothing() -> None:
    random = Random(1)
    data = [random.randbytes(size) for size in (*range(60), 5_000, 70_000, 5_001)]
    random.shuffle(data)
    assert murmur3_128_each(data) == [*map(murmur3_128, data)]


@given(st.lists(st.binary(max_size=70), min_size=24, max_size=60))
def test_hashes_of_any_bytes_are_those_of_single_items(data: list[bytes]) -> None:
    assert murmur3_128_each(data) == [*map(murmur3_128, data)]
