"""Inputs take turns over columns in the order in which a task takes their records."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.merge_order import merge_order
from penstock.kernel.record_queue import Head, PartitionGroup, RawRecord, RecordQueue

TIMES = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=4)


def decode(raw: RawRecord, partition_time: int) -> Head:
    return raw, raw.key, raw.value, raw.timestamp


def taken_one_by_one(queues: list[list[int]]) -> list[tuple[int, int]]:
    group = PartitionGroup()
    for number, times in enumerate(queues):
        group.queues[str(number)] = RecordQueue(str(number), "source", decode)
        group.add(str(number), [RawRecord("t", 0, n, at, None, None) for n, at in enumerate(times)])
    taken = []
    while group.has_records:
        queue, head = group.next()
        taken.append((int(queue.name), head[0].offset))
    return taken


@given(queues=TIMES)
def test_turns_follow_the_task(queues: list[list[int]]) -> None:
    """Also where timestamps are equal, or go back within one input."""
    taken = [(number, place) for number, a, b in merge_order(queues) for place in range(a, b)]
    assert taken == taken_one_by_one(queues)


def test_inputs_that_do_not_overlap_have_one_turn_each() -> None:
    """Runs are as long as they can be: columns are made of them."""
    assert merge_order([[5, 6, 7], [1, 2], []]) == [(1, 0, 2), (0, 0, 3)]
