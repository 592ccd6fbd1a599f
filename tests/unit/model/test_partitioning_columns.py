"""Whole columns of keys go to the partitions that each key goes to on its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.model.columns.partitioning import murmur2_all, partitions_for
from penstock.model.partitioning import murmur2, partition_for

KEYS = st.lists(st.binary(max_size=20))


@given(keys=KEYS)
def test_hashes_of_a_column_are_those_of_its_keys(keys: list[bytes]) -> None:
    """Kafka's hash, whatever the lengths that come together."""
    assert murmur2_all(keys).astype("i4").tolist() == [murmur2(key) for key in keys]


@given(keys=KEYS, partitions=st.integers(1, 100))
def test_partitions_of_a_column_are_those_of_its_keys(keys: list[bytes], partitions: int) -> None:
    """A record without a key goes where an empty key goes."""
    found = partitions_for([*keys, None], partitions).tolist()
    assert found == [partition_for(key, partitions) for key in [*keys, b""]]


@given(keys=KEYS, partitions=st.integers(1, 100))
def test_ends_that_belong_to_no_key_do_not_count(keys: list[bytes], partitions: int) -> None:
    """The start of a window is behind its key."""
    found = partitions_for([key + b"8 bytes." for key in keys], partitions, without=8).tolist()
    assert found == [partition_for(key, partitions) for key in keys]


def test_a_topic_has_at_least_one_partition() -> None:
    """As for a single key, anything else is an error."""
    assert partitions_for([b"k"], 1).tolist() == [0]
    with pytest.raises(PenstockError):
        partitions_for([b"k"], 0)
