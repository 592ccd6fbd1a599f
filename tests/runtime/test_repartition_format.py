"""Repartition topics as Java has them: one Kafka record for each record, in place of bundles."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.exchange.bundles import BUNDLE_HEADER

LINES = ["to be or", "not to be", "to do is", "to be"]


def counted(way: str) -> tuple[MemoryKafka, dict[bytes, list[bytes | None]]]:
    """Count words over two slots, and return what was written for each word in order."""
    builder = ps.StreamsBuilder()
    lines = builder.stream("in").flat_map_values(lambda line: line.split())
    lines.group_by(lambda _, word: word).count("counts").to_stream().to("out")
    kafka = MemoryKafka(4)
    for topic in ("in", "out"):
        kafka.create(topic)
    config = {
        "application.id": "app", "penstock.repartition.format": way,
        "statestore.cache.max.bytes": 0,
    }  # fmt: skip
    application = StagedApplication(builder.build().graph, config, kafka, slots=2)
    for at, line in enumerate(LINES):
        kafka.append("in", b"%d" % at, line.encode(), at)
        application.run_batch(0)
    application.close()
    found: dict[bytes, list[bytes | None]] = {}
    for record in kafka.committed:
        if record.topic == "out":
            found.setdefault(record.key or b"", []).append(record.value)
    return kafka, found


@pytest.mark.parametrize("way", ["columns", "records"])
def test_results_do_not_depend_on_the_format(way: str) -> None:
    """Each word is counted 1 to n, whatever travels between the stages."""
    _, found = counted(way)
    assert {key: len(values) for key, values in found.items()} == {
        b"to": 4, b"be": 3, b"or": 1, b"not": 1, b"do": 1, b"is": 1,
    }  # fmt: skip
    assert [int.from_bytes(value or b"", "big") for value in found[b"to"]] == [1, 2, 3, 4]


def test_records_are_what_java_would_write() -> None:
    """Key, value and no header of ours: Java's Kafka Streams and Kafka's tools read them."""
    kafka, _ = counted("records")
    topic = next(name for name in kafka.logs if name.endswith("-repartition"))
    records = [each for log in kafka.logs[topic] for each in log if each is not None]
    assert len(records) == sum(len(line.split()) for line in LINES)
    assert {(each.key, each.value) for each in records} >= {(b"be", b"be"), (b"do", b"do")}
    assert all(name != BUNDLE_HEADER for each in records for name, _ in each.headers)


def test_bundles_of_all_tasks_are_sent_partition_by_partition() -> None:
    """So the client makes one request per partition of them, however many tasks a slot has."""
    builder = ps.StreamsBuilder()
    lines = builder.stream("in").flat_map_values(lambda line: line.split())
    lines.group_by(lambda _, word: word).count("counts").to_stream().to("out")
    kafka = MemoryKafka(4)
    for topic in ("in", "out"):
        kafka.create(topic)
    application = StagedApplication(
        builder.build().graph, {"application.id": "app"}, kafka, slots=1
    )
    for at in range(40):
        kafka.append("in", b"%d" % at, f"to be or not {at}".encode(), at)
    application.run_batch(0)
    application.close()
    sent = [each for each in kafka.committed if each.topic.endswith("-repartition")]
    upstream = {value for each in sent for name, value in each.headers if name == BUNDLE_HEADER}
    assert len(upstream) > 1
    partitions = [each.partition for each in sent]
    assert len(set(partitions)) > 1
    assert partitions == sorted(partitions)
