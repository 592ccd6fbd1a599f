"""Topics in memory behave as Kafka does where the runtime relies on it."""

from __future__ import annotations

from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.task_id import TaskId
from penstock.runtime.local.memory_kafka import MemoryKafka, unbundled
from penstock.runtime.spark.exchange.bundles import Bundle, bundle_header


def test_a_topic_is_created_once_and_keeps_its_size() -> None:
    """A second call with another size changes nothing."""
    kafka = MemoryKafka(partitions=3)
    kafka.create("t", 2)
    kafka.create("t", 5)
    assert kafka.partitions_of("t") == 2
    assert kafka.partitions_of("new") == 3
    assert {name: len(topic.partitions) for name, topic in kafka.topics().items()} == {
        "t": 2, "new": 3,
    }  # fmt: skip


def test_a_key_decides_the_partition_unless_one_is_named() -> None:
    """Records without a key go to partition 0."""
    kafka = MemoryKafka(partitions=4)
    assert kafka.append("t", b"a", b"1", 0) == 0
    assert kafka.append("t", b"a", b"2", 0) == 1
    assert kafka.append("t", None, b"3", 0, partition=3) == 0
    assert kafka.append("t", None, b"4", 0, partition=0) in (0, 2)
    of_a = partition_for(b"a", 4)
    assert [record.value for record in kafka.logs["t"][of_a] if record][:2] == [b"1", b"2"]
    assert kafka.ends({"t": 4})["t", 3] == 1


def test_a_new_writer_of_a_slot_fences_the_older_one() -> None:
    """Other slots are not fenced."""
    kafka = MemoryKafka()
    first, other = kafka.new_epoch(0), kafka.new_epoch(1)
    second = kafka.new_epoch(0)
    assert kafka.is_fenced(0, first)
    assert not kafka.is_fenced(0, second)
    assert not kafka.is_fenced(1, other)


def test_a_bundle_is_taken_apart_and_any_other_record_is_alone() -> None:
    """The records of a bundle keep its partition and offset, and have their own times."""
    bundle = Bundle(0, [5, 7], [b"a", None], [b"1", b"2"])
    ((_, data),) = bundle.packed()
    record = RawRecord("t", 2, 9, 0, None, data, bundle_header(TaskId(0, 0), 1))
    rows = unbundled(record)
    assert [(row.key, row.value, row.timestamp) for row in rows] == [
        (b"a", b"1", 5), (None, b"2", 7),
    ]  # fmt: skip
    assert {(row.partition, row.offset) for row in rows} == {(2, 9)}
    alone = RawRecord("t", 0, 0, 3, b"k", b"v", (("h", b"1"),))
    assert unbundled(alone) == [alone]
