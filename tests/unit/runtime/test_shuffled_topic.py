"""Records of a repartition topic are bundled by partition, however they are handed over."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.raw_columns import listed
from penstock.model.partitioning import partition_for
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.rows import RowBuffer, split_stage
from penstock.runtime.spark.exchange.shuffled_topic import ShuffledTopic

KEYS = st.lists(st.none() | st.binary(max_size=9), min_size=1, max_size=40)


def topic(partitions: int) -> ShuffledTopic:
    plan: Any = SimpleNamespace(consumer_of=lambda name: (1, None), partitions={"t": partitions})
    return ShuffledTopic("t", plan)


def received(shuffled: ShuffledTopic) -> list[Any]:
    rows: list[tuple[Any, ...]] = list(shuffled.rows(TaskId(0, 3), 2))
    assert all(row[0] == row[3] % 2 for row in rows), "a partition belongs to one slot"
    sent, _ = split_stage(RowBuffer(rows).batches(), 1)
    return sorted(
        (s.partition, s.first_sequence, s.keys, s.values, [*listed(s.timestamps)]) for s in sent
    )


@given(keys=KEYS, partitions=st.integers(1, 5))
def test_columns_are_bundled_like_single_records(keys: list[bytes | None], partitions: int) -> None:
    """Same partitions, same order, same places in the sequence."""
    one_by_one, at_once = topic(partitions), topic(partitions)
    values, times = [b"v%d" % n for n in range(len(keys))], list(range(len(keys)))
    for n, key in enumerate(keys):
        one_by_one.add(7 + n, key, values[n], times[n], None, None)
    at_once.add_all(7, keys, values, times)
    found = received(at_once)
    assert found == received(one_by_one)
    for partition, _, its_keys, _, _ in found:
        assert {partition_for(key or b"", partitions) for key in its_keys} == {partition}


def test_rows_are_given_once() -> None:
    """What has gone to a stage does not go there again."""
    shuffled = topic(1)
    shuffled.add(1, b"k", None, 5, None, None)
    assert len(list(shuffled.rows(TaskId(0, 0), 1))) == 1
    assert list(shuffled.rows(TaskId(0, 0), 1)) == []
