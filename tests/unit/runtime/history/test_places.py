"""The places of records in the order of all: ``penstock.runtime.history.places``."""

import pyarrow as pa
import pytest

from penstock.errors import StreamsError
from penstock.runtime.history.places import placed
from penstock.runtime.history.rows import INPUT_SCHEMA


def batch(times: list[int], at: list[int | None], task: int = 3) -> pa.RecordBatch:
    size = len(times)
    columns = {
        "task": [task] * size, "input": [0] * size, "at": at, "tie": [0] * size,
        "source": [task] * size, "seq": [0] * size, "timestamp": times, "key": [None] * size,
        "value": [None] * size, "headers": [None] * size,
    }  # fmt: skip
    return pa.RecordBatch.from_pydict(columns, schema=INPUT_SCHEMA)


def test_a_late_record_comes_behind_the_records_before_it() -> None:
    """Its place is the highest timestamp so far, also over the end of a batch."""
    given = [batch([5, 20, 10], [None] * 3), batch([], []), batch([15, 30], [None] * 2)]
    found = [*placed({0: 1}, given, tracks_ties=False)]
    assert [each.column("at").to_pylist() for each in found] == [[5, 20, 20], [20, 30]]


def test_a_known_arrival_stays() -> None:
    """It says where the record came among all others."""
    (found,) = placed({0: 1}, [batch([5, 20], [7, 8])], tracks_ties=False)
    assert found.column("at").to_pylist() == [7, 8]


def test_every_partition_has_times_of_its_own() -> None:
    """Those of a global topic come one after the other; what other passes sent keeps its place."""
    whole = pa.Table.from_batches([batch([9], [None], 1), batch([5], [None], 2)]).combine_chunks()
    found = placed({0: 1}, whole.to_batches(), tracks_ties=True)
    assert [each.column("at").to_pylist() for each in found] == [[9], [5]]
    sent = batch([5], [8])
    assert [*placed({1: 0}, [sent], tracks_ties=True)] == [sent]


def test_ties_tell_partition_topic_and_number() -> None:
    """Records of one millisecond come by partition, then by topic."""
    first, second = placed(
        {0: 1}, [batch([5, 5], [None] * 2), batch([5], [None])], tracks_ties=True
    )
    base = (3 << 8 | 1) << 40
    ties = [*first.column("tie").to_pylist(), *second.column("tie").to_pylist()]
    assert ties == [base, base + 1, base + 2]


def test_more_topics_than_ties_can_tell_are_refused() -> None:
    """Otherwise records of two topics would share a number."""
    with pytest.raises(StreamsError, match="too-much-history"):
        [*placed({0: 256}, [batch([5], [None])], tracks_ties=True)]


def test_an_offset_that_comes_twice_is_refused() -> None:
    """A record that is in the history twice would count twice."""
    whole = batch([5, 6], [None, None])
    with pytest.raises(StreamsError, match="history-doubled") as raised:
        [*placed({0: 1}, [whole], tracks_ties=False, with_offsets={0})]
    assert "offset 0 of partition 3" in str(raised.value)
