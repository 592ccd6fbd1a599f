"""``driver.dropped``: the records that a topology dropped, with line and reason."""

import pytest

from penstock import StreamsBuilder
from penstock.testing import DroppedRecord, TopologyTestDriver
from penstock.testing.dropped import dropped_record


def counting() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts").to_stream().to("out")
    return builder


@pytest.mark.parametrize("partitions", [{}, {"in": 2}])
def test_dropped_record_is_kept_as_it_was_read(partitions: dict[str, int]) -> None:
    """With one task or with several; the place is the line of the program."""
    topology = counting().build()
    with TopologyTestDriver(topology, num_partitions=partitions) as driver:
        driver.pipe("in", ("a", "1"))
        driver.pipe_input("in", None, "lost", timestamp=7, partition=0)
        (dropped,) = driver.dropped
        (counted,) = driver.dropped_records
    node = topology.graph.nodes[counted[0]]
    assert dropped.reason == counted[1] == "null-key-or-value"
    assert dropped.at == f"count · {node.site}"
    assert (dropped.topic, dropped.partition, dropped.timestamp) == ("in", 0, 7)
    assert (dropped.key, dropped.value) == (None, b"lost")


def test_skipped_bytes_are_among_them() -> None:
    """A record that cannot be decoded is the one that never reached a function."""
    builder = StreamsBuilder()
    builder.stream("in", value="long").to("out")
    config = {"deserialization.exception.handler": "continue"}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe_bytes("in", b"k", b"\xff", 5)
        (dropped,) = driver.dropped
    assert str(dropped) == (
        f"deserialization in {dropped.at}: topic 'in' partition 0 offset 0 time 5"
        " key 'k' value b'\\xff'"
    )


def test_long_values_are_cut_and_timers_have_no_record() -> None:
    """One line per record in a report."""
    node = counting().build().graph.nodes["KSTREAM-SOURCE-0000000000"]
    long = DroppedRecord("n", "null-key", "filter", "in", 0, 0, 0, None, b"x" * 1_000)
    assert len(str(long)) < 150
    assert str(long).endswith("x…")
    assert str(dropped_record(node, "processing", None)).endswith(": in a punctuation")
