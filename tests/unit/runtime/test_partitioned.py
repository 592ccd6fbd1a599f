"""The test driver over topics with several partitions.

Exercises ``topic_serdes`` and ``testing.topics``.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock import Processor, PunctuationType, Record, StreamsBuilder, TimeWindows, Topology
from penstock.errors import InvalidArgumentError, TopologyError
from penstock.model.partitioning import partition_for
from penstock.testing import TestRecord, TopologyTestDriver, rows


def by_value() -> Topology:
    """Counts words: the word becomes the key, so that records change their partition."""
    builder = StreamsBuilder()
    words = builder.stream("in").group_by(lambda _, word: word)
    words.count("counts").to_stream().to("out", value="long")
    return builder.build()


def late_counts() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_and_grace("10s", 0)
    counts = builder.stream("in").group_by_key().windowed_by(windows).count("counts")
    counts.to_stream(lambda window, _: window.key).to("out", value="long")
    return builder.build()


def test_key_decides_the_partition_as_in_kafka() -> None:
    """Input and output go where Kafka's own partitioner puts them."""
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), num_partitions={"in": 3, "out": 5}) as driver:
        driver.pipe("in", *((key, "v") for key in "abcdef"))
        found = {record.key: record.partition for record in driver.read_records("out")}
    assert found == {key: partition_for(key.encode(), 5) for key in "abcdef"}
    assert len(set(found.values())) > 2


def test_task_of_a_record_is_that_of_its_partition() -> None:
    """Without a key the partitions take turns; a partition that is named wins over the key."""

    def place(record: Record[str, str], context: Any) -> Record[str, str]:
        at = context.record_metadata
        return record.with_value(f"{context.task_id} {at.partition} {at.offset}")

    builder = StreamsBuilder()
    builder.stream("in").process(place).to("out")
    with TopologyTestDriver(builder.build(), num_partitions={"in": 2}) as driver:
        driver.pipe("in", "x", "y", "z")
        driver.pipe("in", TestRecord("a", "v", partition=1), TestRecord("a", "v", partition=0))
        assert driver.read_values("out") == ["0_0 0 0", "0_1 1 0", "0_0 0 1", "0_1 1 1", "0_0 0 2"]


def test_repartitioning_brings_equal_keys_together() -> None:
    """However the input is spread: one store per task, and each key in one of them."""
    with TopologyTestDriver(by_value(), num_partitions={"in": 3}) as driver:
        driver.pipe("in", *(TestRecord(None, "ab"[n % 2], partition=n % 3) for n in range(6)))
        assert driver.read_map("out") == {"a": 3, "b": 3}
        stores = [driver.get_key_value_store("counts", number) for number in range(3)]
        assert [dict(store.all()) for store in stores] == [
            {key: 3 for key in "ab" if partition_for(key.encode(), 3) == number}
            for number in range(3)
        ]
        changelog = "topology-test-driver-counts-changelog"
        places = {record.key: record.partition for record in driver.take_all(changelog)}
        assert places == {key: partition_for(key, 3) for key in (b"a", b"b")}


def test_each_partition_has_a_stream_time_of_its_own() -> None:
    """A record is late by the records of its own partition only."""
    with TopologyTestDriver(late_counts(), num_partitions={"in": 2}) as driver:
        driver.pipe(
            "in",
            """
            key | value | time | partition
            a   | v     | 0:25 | 0
            b   | v     | 0:05 | 1
            a   | v     | 0:05 | 0           # its window closed at 0:10
        """,
        )
        assert driver.read("out") == rows("key | value\na | 1\nb | 1")
        assert sum(driver.dropped_records.values()) == 1


def test_one_partition_has_one_stream_time() -> None:
    """The same records in one partition: both old ones are late."""
    with TopologyTestDriver(late_counts(), num_partitions={"in": 1}) as driver:
        driver.pipe("in", "key | value | time\na | v | 0:25\nb | v | 0:05\na | v | 0:05")
        assert driver.read("out") == rows("key | value\na | 1")


def test_wall_clock_punctuation_fires_in_every_task() -> None:
    """Each task has a processor of its own."""

    class Ticker(Processor[Any, Any, str, str]):
        def init(self, context: Any) -> None:
            context.schedule("1s", PunctuationType.WALL_CLOCK_TIME, self.tick)

        def process(self, record: Record[Any, Any]) -> None:
            return None

        def tick(self, now: int) -> None:
            self.context.forward(Record(str(self.context.task_id), "tick", now))

    builder = StreamsBuilder()
    builder.stream("in").process(Ticker).to("out")
    with TopologyTestDriver(builder.build(), num_partitions={"in": 3}) as driver:
        driver.advance_wall_clock_time("1s")
        assert [key for key, _ in driver.read_key_values("out")] == ["0_0", "0_1", "0_2"]


def test_topics_that_are_joined_need_the_same_size() -> None:
    """The test fails where the application would."""
    builder = StreamsBuilder()
    builder.stream("in").join(builder.table("users"), lambda one, other: one + other).to("out")
    with pytest.raises(TopologyError, match="same number of partitions"):
        TopologyTestDriver(builder.build(), num_partitions={"in": 2, "users": 3})
    with TopologyTestDriver(builder.build(), num_partitions={"in": 2, "users": 2}) as driver:
        driver.pipe("users", ("a", "1"), ("b", "2"), ("c", "3"))
        driver.pipe("in", ("a", "x"), ("b", "y"), ("c", "z"))
        assert driver.read_map("out") == {"a": "x1", "b": "y2", "c": "z3"}


def test_global_table_is_the_same_in_every_task() -> None:
    """It has no partitions, whatever its topic has."""
    builder = StreamsBuilder()
    names = builder.global_table("names", materialized="names")
    joined = builder.stream("in").join(names, lambda one, name: one + name, key=lambda key, _: key)
    joined.to("out")
    with TopologyTestDriver(builder.build(), num_partitions={"in": 2, "names": 2}) as driver:
        driver.pipe("names", ("a", "1"), ("b", "2"), ("c", "3"))
        keys = [TestRecord(key, "x", partition=1) for key in "abc"]
        driver.pipe("in", *keys)
        assert driver.read_map("out") == {"a": "x1", "b": "x2", "c": "x3"}
        assert driver.get_key_value_store("names")["c"] == "3"


def test_partitioner_sees_the_size_of_its_topic() -> None:
    """A custom partitioner chooses among the partitions that the test declares."""
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, count: count - 1)
    with TopologyTestDriver(builder.build(), num_partitions={"out": 4}) as driver:
        driver.pipe("in", ("a", "v"))
        assert driver.read("out") == rows("key | value | partition\na | v | 3")


def test_batch_over_partitions_commits_once_per_task() -> None:
    """A cache holds back all but the last result of a key."""
    config = {"statestore.cache.max.bytes": 1_000_000}
    records = [("ab"[n % 2], f"v{n}") for n in range(6)]
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().to("out", value="long")
    with TopologyTestDriver(builder.build(), config, num_partitions={"in": 2}) as driver:
        driver.pipe_batch({"in": records})
        assert sorted(driver.read_key_values("out")) == [("a", 3), ("b", 3)]


def test_pattern_reads_the_topics_that_are_declared() -> None:
    """Other topics cannot be known to a test."""
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*")).to("out")
    topology = builder.build()
    with TopologyTestDriver(
        topology, num_partitions={"in-1": 2, "in-2": 3}, on_disk=True
    ) as driver:
        driver.pipe("in-2", TestRecord("k", "v", partition=2))
        assert driver.read_values("out") == ["v"]
    with pytest.raises(InvalidArgumentError, match="no topic matches"):
        TopologyTestDriver(topology, num_partitions={"out": 2})


@pytest.mark.parametrize(
    ("partitions", "said"),
    [({"in": 0}, "cannot have 0 partitions"), ({"inn": 2}, "neither reads nor writes")],
)
def test_wrong_sizes_are_refused(partitions: dict[str, int], said: str) -> None:
    """A slip of the pen must not read as one partition."""
    with pytest.raises(InvalidArgumentError, match=said):
        TopologyTestDriver(by_value(), num_partitions=partitions)


def test_partition_that_a_topic_does_not_have_is_refused() -> None:
    """With one partition and with several."""
    for partitions in ({}, {"in": 2}):
        with TopologyTestDriver(by_value(), num_partitions=partitions) as driver:
            with pytest.raises(InvalidArgumentError, match="none has the number 2"):
                driver.pipe_input("in", "k", "v", partition=2)
            with pytest.raises(InvalidArgumentError, match="none has the number -1"):
                driver.create_input_topic("in").pipe_input("v", partition=-1)


def test_store_with_several_partitions_asks_which_one() -> None:
    """There is no store of all of them."""
    with TopologyTestDriver(by_value(), num_partitions={"in": 2}) as driver:
        with pytest.raises(InvalidArgumentError, match="has the partitions 0, 1; no partition"):
            driver.get_state_store("counts")
        with pytest.raises(InvalidArgumentError, match="not partition 2"):
            driver.get_timestamped_key_value_store("counts", 2)
