"""Writes what history has made into topics: changelogs, and output topics exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.errors import PenstockError, StreamsError
from penstock.kafka.clients import new_producer, sendable_time
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.history.rows import headers_of
from penstock.runtime.spark.backfill.backfill_log import BackfillLog, written_record
from penstock.runtime.spark.history.errors import portable
from penstock.runtime.spark.history.header_text import as_text

_COUNTS = "partition int, records long"
_ARROW = pa.schema([("partition", pa.int32()), ("records", pa.int64())])
#: Records in one transaction of an output topic.
_IN_TRANSACTION = 50_000
_FLUSH_S, _COMMIT_S = 120.0, 60.0

_Record = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]] | None]


@dataclass(frozen=True)
class Clients:
    """The settings of the clients that tasks make."""

    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    log_topic: str
    application_id: str

    def log(self) -> BackfillLog:
        return BackfillLog(self.log_topic, self.consumer, self.producer)


def write_changelog(frame: DataFrame, topic: str, tasks: int, clients: Clients) -> int:
    """Write the records of a changelog; return how many there are.

    A second writing of the same records changes nothing: the last record of a key counts, and
    versions are put again as they were.
    """
    rows = (
        frame.select(
            sf.col("task").alias("partition"), "seq", "timestamp", "key", "value", "headers"
        )
        .repartitionById(tasks, "partition")
        .sortWithinPartitions("seq")
    )
    return _written(rows, _WriteChangelog(topic, clients))


def write_outputs(frame: DataFrame, topic: str, partitions: int, clients: Clients) -> int:
    """Write the records of an output topic in their order, each once, whatever happens."""
    rows = (
        frame.select(
            "partition", "order", sf.unix_millis("timestamp").alias("timestamp"), "key", "value",
            as_text(sf.col("headers")).alias("headers"),
        )
        .repartitionById(partitions, "partition")
        .sortWithinPartitions("order")
    )  # fmt: skip
    return _written(rows, _WriteOutput(topic, clients))


def _written(rows: DataFrame, write: Any) -> int:
    found = rows.mapInArrow(write, _COUNTS).agg(sf.sum("records").alias("n")).collect()
    return int(found[0]["n"] or 0)


@dataclass
class _Producing:
    """A producer and the first error that it has reported."""

    settings: Mapping[str, Any]
    _failure: KafkaError | None = None
    producer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.producer = new_producer(self.settings)

    def send(self, topic: str, partition: int, record: _Record) -> None:
        key, value, timestamp, headers = record
        while True:
            try:
                self.producer.produce(
                    topic, value, key, partition, self._delivered,
                    timestamp=sendable_time(timestamp), headers=headers,
                )  # fmt: skip
                return
            except BufferError:
                self.producer.poll(0.1)

    def flush(self) -> None:
        left = self.producer.flush(_FLUSH_S)
        if self._failure is not None:
            raise KafkaException(self._failure)
        if left:
            raise StreamsError(
                "write-failed",
                f"Kafka did not take {left} records within {_FLUSH_S:.0f} s",
                fix="check the broker, then run the backfill again",
            )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = error


class _WriteChangelog:
    """Writes the records of one partition of a changelog, in a Spark task."""

    def __init__(self, topic: str, clients: Clients) -> None:
        self._topic = topic
        self._clients = clients

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        producing, count, partition = None, 0, 0
        for partition, record in _records(batches):
            producing = producing or _Producing(self._clients.producer)
            producing.send(self._topic, partition, record)
            count += 1
        if producing is not None:
            try:
                producing.flush()
            except PenstockError as error:
                raise portable(error) from error
        yield _count(partition, count)


class _WriteOutput:
    """Writes the records of one partition of an output topic, in transactions.

    Each transaction also says how many records are written. A task that is run again, now or by a
    later backfill, ends the transaction of the former one, and goes on behind what is committed.
    """

    def __init__(self, topic: str, clients: Clients) -> None:
        self._topic = topic
        self._clients = clients

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        records = _records(batches)
        first = next(records, None)
        if first is None:
            yield _count(0, 0)
            return
        partition = first[0]
        try:
            total = self._write((self._topic, partition), _chained(first, records))
        except PenstockError as error:
            raise portable(error) from error
        yield _count(partition, total)

    def _write(self, part: TopicPartition, records: Iterator[tuple[int, _Record]]) -> int:
        clients = self._clients
        identity = f"{clients.application_id}-penstock-backfill-{part[0]}-{part[1]}"
        producing = _Producing({**clients.producer, "transactional.id": identity})
        producing.producer.init_transactions(_COMMIT_S)
        done = clients.log().read().written.get(part, 0)
        total = sum(1 for _ in islice(records, done))
        while some := list(islice(records, _IN_TRANSACTION)):
            producing.producer.begin_transaction()
            for partition, record in some:
                producing.send(part[0], partition, record)
            total += len(some)
            key, value = written_record(part, total)
            producing.send(clients.log_topic, 0, (key, value, 1, None))
            producing.flush()
            producing.producer.commit_transaction(_COMMIT_S)
        return total


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, _Record]]:
    for batch in batches:
        columns = (
            batch.column(name).to_pylist()
            for name in ("partition", "key", "value", "timestamp", "headers")
        )
        for partition, key, value, timestamp, headers in zip(*columns, strict=True):
            sent = None if headers is None else list(headers_of(headers))
            yield partition, (key, value, timestamp, sent)


def _chained(
    first: tuple[int, _Record], rest: Iterator[tuple[int, _Record]]
) -> Iterator[tuple[int, _Record]]:
    yield first
    yield from rest


def _count(partition: int, records: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"partition": [partition], "records": [records]}, schema=_ARROW
    )
