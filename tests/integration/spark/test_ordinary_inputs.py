"""Inputs as other programs and operators leave them: open transactions, lost offsets, odd times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

import penstock as ps
from penstock.kafka.admin import Admin

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def copy_of(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream(source).to(sink)
    return builder.build()


def joined(source: str, table: ps.KTable | ps.GlobalKTable, builder: Any, sink: str) -> None:
    stream = builder.stream(source)
    if isinstance(table, ps.GlobalKTable):
        stream.join(table, lambda a, b: a + b, key=lambda key, _: key).to(sink)
    else:
        stream.join(table, lambda left, right: left + right).to(sink)


def wait_for(is_true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.1)


@pytest.fixture
def foreign(kafka_broker: str) -> Iterator[Producer]:
    """The producer of another program, which has begun a transaction."""
    producer = Producer(
        {"bootstrap.servers": kafka_broker, "transactional.id": f"foreign-{time.time_ns()}"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def leave_open(producer: Producer, topic: str, kafka_broker: str) -> None:
    """Write 5 records of an open transaction to partition 1, and 10 more records behind them."""
    for n in range(5):
        producer.produce(topic, f"open-{n}", f"k{n}", partition=1)
    assert producer.flush(30) == 0
    plain = Producer({"bootstrap.servers": kafka_broker})
    for n in range(10):
        plain.produce(topic, f"plain-{n}", f"k{n}", partition=1)
    assert plain.flush(30) == 0


def test_an_open_transaction_does_not_hold_up_at_least_once(
    streams_of: Make, new_topic: Any, committed: Records, foreign: Producer, kafka_broker: str
) -> None:
    """As in Kafka Streams, which reads uncommitted records; and exactly once goes on from there."""
    source, sink = new_topic("words", partitions=2), new_topic("copies")
    leave_open(foreign, source, kafka_broker)
    topology = copy_of(source, sink)
    with streams_of(topology, processing_guarantee="at_least_once") as streams:
        assert streams.run_until_idle("60s")
    assert len(committed(sink)) == 15
    with streams_of(topology) as streams:
        wait_for(lambda: streams.state is ps.State.RUNNING)
        foreign.commit_transaction(30)
        assert streams.run_until_idle("60s")
    assert len(committed(sink)) == 15


def test_exactly_once_says_which_partition_waits_for_an_open_transaction(
    streams_of: Make, new_topic: Any, committed: Records, foreign: Producer, kafka_broker: str
) -> None:
    """Records behind it count as lag, and ``waiting_for`` names the partition."""
    source, sink = new_topic("words", partitions=2), new_topic("copies")
    leave_open(foreign, source, kafka_broker)
    with streams_of(copy_of(source, sink)) as streams:
        wait_for(lambda: streams.waiting_for is not None and "transaction" in streams.waiting_for)
        assert f"{source!r} partition 1" in (streams.waiting_for or "")
        assert streams.lag()[source, 1] == 15
        assert streams.metrics().lag[source, 1] == 15
        foreign.commit_transaction(30)
        assert streams.run_until_idle("60s")
        wait_for(lambda: streams.waiting_for is None, 20)
    assert len(committed(sink)) == 15


def test_a_global_table_begins_where_its_topic_does(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin
) -> None:
    """Retention may have deleted the first offsets, at the start and while it runs."""
    source, table, sink = new_topic("words"), new_topic("names"), new_topic("joined")
    produce(table, *[(f"k{n}", "old") for n in range(50)], *[(f"k{n}", "new") for n in range(50)])
    kafka_admin.delete_records({(table, 0): 50})
    produce(source, *[(f"k{n}", "a-") for n in range(50)])
    builder = ps.StreamsBuilder()
    joined(source, builder.global_table(table), builder, sink)
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("60s")
        assert [value for _, value in committed(sink)] == [b"a-new"] * 50
        streams.pause()
        time.sleep(0.5)
        produce(table, *[(f"k{n}", "newer") for n in range(60)])
        kafka_admin.delete_records({(table, 0): 110})
        produce(source, ("k20", "b-"))
        streams.resume()
        assert streams.run_until_idle("60s")
    assert committed(sink)[-1] == (b"k20", b"b-newer")


def test_timestamps_in_microseconds_do_not_stop_a_join_with_a_backlog(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """The search for the end of a batch by time reaches every timestamp that Kafka takes."""
    late = {"message_timestamp_after_max_ms": str(1 << 62)}
    source, table = new_topic("words", **late), new_topic("names", **late)
    sink, now_us = new_topic("joined", **late), time.time_ns() // 1_000
    produce(table, *[(f"k{n}", "x", now_us + n) for n in range(10)])
    produce(source, *[(f"k{n % 10}", "a", now_us + 10 + n) for n in range(8_000)])
    builder = ps.StreamsBuilder()
    joined(source, builder.table(table), builder, sink)
    with streams_of(builder.build(), topology_optimization="all") as streams:
        assert streams.run_until_idle("60s")
    assert len(committed(sink)) == 8_000


def test_a_gap_in_the_offsets_is_passed_in_a_few_batches(
    streams_of: Make, new_topic: Any, committed: Records, kafka_broker: str
) -> None:
    """Compaction leaves such gaps, too, and may leave one record in a thousand offsets."""
    source, sink = new_topic("words"), new_topic("copies")
    producer = Producer(
        {"bootstrap.servers": kafka_broker, "transactional.id": f"gap-{time.time_ns()}",
         "queue.buffering.max.messages": 500_000}
    )  # fmt: skip
    producer.init_transactions(30)
    for text, count, is_kept in (("first", 1, True), ("gone", 200_000, False), ("last", 1, True)):
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(source, text, "k", partition=0)
        assert producer.flush(60) == 0
        (producer.commit_transaction if is_kept else producer.abort_transaction)(30)
    with streams_of(copy_of(source, sink)) as streams:
        assert streams.run_until_idle("120s")
        assert streams.metrics().batches < 10
    assert [value for _, value in committed(sink)] == [b"first", b"last"]
