"""Records of a repartition topic are bundled by partition, added one by one or as columns."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.raw_columns import listed
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.partitioning import partition_for
from penstock.runtime.spark.worker import repartition_topic as module
from penstock.runtime.spark.worker.repartition_topic import RepartitionTopic

KEYS = st.lists(st.none() | st.binary(max_size=9), min_size=1, max_size=40)
Rows = dict[int, list[tuple[Any, ...]]]


def topic(partitions: int) -> RepartitionTopic:
    return RepartitionTopic("t", partitions)


def rows(repartition: RepartitionTopic) -> Rows:
    found: Rows = defaultdict(list)
    for partition, bundle in repartition.bundles():
        headers = bundle.headers or [None] * len(bundle)
        times = listed(bundle.timestamps)
        found[partition] += zip(times, bundle.keys, bundle.values, headers, strict=True)
    return dict(found)


def coded(keys: list[bytes | None]) -> DictionaryBytes:
    different = sorted({key for key in keys if key is not None})
    codes = [-1 if key is None else different.index(key) for key in keys]
    return DictionaryBytes(np.array(codes, np.int64), different)


@given(keys=KEYS, partitions=st.integers(1, 5), is_coded=st.booleans())
def test_columns_are_bundled_like_single_records(
    keys: list[bytes | None], partitions: int, is_coded: bool
) -> None:
    """Same partitions and same order; a record without a key has the place of an empty one."""
    one_by_one, at_once = topic(partitions), topic(partitions)
    values, times = [b"v%d" % n for n in range(len(keys))], list(range(len(keys)))
    for n, key in enumerate(keys):
        one_by_one.add(7 + n, key, values[n], times[n], None, None)
    at_once.add_all(7, coded(keys) if is_coded else keys, values, times)
    found = rows(at_once)
    assert found == rows(one_by_one)
    for partition, its in found.items():
        assert {partition_for(row[1] or b"", partitions) for row in its} == {partition}


@given(
    calls=st.lists(st.tuples(st.booleans(), KEYS), max_size=8),
    partitions=st.integers(1, 3),
    largest=st.integers(1, 50),
)
def test_order_within_a_partition_is_kept_when_both_ways_are_mixed(
    calls: list[tuple[bool, list[bytes | None]]], partitions: int, largest: int
) -> None:
    """Updates of a key must not overtake each other, whatever bundle they are in."""
    repartition, expected, row = topic(partitions), defaultdict(list), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_RECORDS_PER_BUNDLE", largest)
        for in_columns, keys in calls:
            times = list(range(row, row + len(keys)))
            row += len(keys)
            for time, key in zip(times, keys, strict=True):
                expected[partition_for(key or b"", partitions)].append(time)
                if not in_columns:
                    repartition.add(time, key, None, time, None, None)
            if in_columns:
                repartition.add_all(times[0], keys, [None] * len(keys), times)
        bundles = repartition.bundles()
    assert all(len(bundle) <= largest for _, bundle in bundles)
    found = defaultdict(list)
    for partition, bundle in bundles:
        found[partition] += listed(bundle.timestamps)
    assert found == expected


@given(
    calls=st.lists(st.tuples(st.none() | st.integers(0, 2), KEYS), min_size=1, max_size=6),
    is_coded=st.booleans(),
)
def test_columns_of_one_partition_are_bundled_like_single_records(
    calls: list[tuple[int | None, list[bytes | None]]], is_coded: bool
) -> None:
    """Beside columns whose keys determine their partitions."""
    one_by_one, at_once = topic(3), topic(3)
    sequence = 0
    for partition, keys in calls:
        values, times = [b"v%d" % n for n in range(len(keys))], list(range(len(keys)))
        at_once.add_all(sequence, coded(keys) if is_coded else keys, values, times, partition)
        for n, key in enumerate(keys):
            one_by_one.add(sequence + n, key, values[n], times[n], None, partition)
        sequence += len(keys)
    assert rows(at_once) == rows(one_by_one)


def test_headers_begin_with_the_first_record_that_has_some() -> None:
    """Records before it get none, those after it may go without."""
    repartition = topic(1)
    for headers in (None, b"h", None):
        repartition.add(1, b"k", None, 1, headers, None)
    ((_, bundle),) = repartition.bundles()
    assert bundle.headers == [None, b"h", None]


def test_a_partition_that_is_asked_for_wins_over_the_key() -> None:
    """A stream partitioner of the user's may send a key anywhere."""
    repartition = topic(4)
    wanted = (partition_for(b"k", 4) + 1) % 4
    repartition.add(1, b"k", None, 1, None, wanted)
    assert rows(repartition).keys() == {wanted}


def test_bundles_are_given_once() -> None:
    """What has been written is not written again, and a failed run leaves nothing behind."""
    repartition = topic(1)
    repartition.add(1, b"k", None, 5, None, None)
    assert len(repartition.bundles()) == 1
    assert repartition.bundles() == []
    repartition.add(1, b"k", None, 5, None, None)
    repartition.add_all(2, [b"k"], [None], [6])
    repartition.clear()
    assert repartition.bundles() == []
