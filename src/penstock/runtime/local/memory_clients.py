"""The Kafka clients of a slot and of the driver, over topics in memory (``memory_kafka``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaException

from penstock.kernel.raw_columns import RawColumns, columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.stage_request import Range
from penstock.runtime.spark.worker.reader import Reader, ReadRanges
from penstock.runtime.spark.worker.writer import Writer


class InjectedFaultError(Exception):
    """Raised by a commit that ``MemoryKafka.fault`` has chosen to fail."""


class Delivery(NamedTuple):
    """A delivery report: the partition and offset of a record."""

    at: int
    number: int

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return self.number


class MemoryWriter:
    """Keep the records of a transaction until it commits."""

    is_transactional = True
    is_usable = True

    def __init__(self, kafka: MemoryKafka, slot: int) -> None:
        self._kafka = kafka
        self._slot = slot
        self._epoch = kafka.new_epoch(slot)
        self._open: list[tuple[tuple[Any, ...], Any]] | None = None

    def begin(self) -> None:
        assert self._open is None, "a transaction is open already"
        self._open = []

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None,
        on_delivery: Any = None,
    ) -> None:
        assert self._open is not None, "no transaction is open"
        assert key is None or isinstance(key, bytes)
        assert value is None or isinstance(value, bytes)
        self._open.append(((topic, key, value, timestamp, headers, partition), on_delivery))

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        for record in zip(keys, values, timestamps, strict=True):
            self.send(topic, *record, headers, partition)

    def commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        assert self._open is not None, "no transaction is open"
        assert not self._kafka.is_fenced(self._slot, self._epoch), "the writer is fenced"
        number, self._kafka.commits = self._kafka.commits, self._kafka.commits + 1
        fault = self._kafka.fault(number)
        if fault == "before":
            raise InjectedFaultError(f"commit {number} failed")
        self._refuse()
        touched: dict[TopicPartition, None] = {}
        for fields, on_delivery in self._open:
            at = self._kafka.append(*fields)
            record = self._kafka.committed[-1]
            touched[record.topic, record.partition] = None
            if on_delivery is not None:
                on_delivery(None, Delivery(at, record.partition))
        for topic, partition in touched:
            self._kafka.logs[topic][partition].append(None)
        self._kafka.group |= offsets
        self._open = None
        if fault == "after":
            raise InjectedFaultError(f"commit {number} failed after it had its effect")

    def _refuse(self) -> None:
        """Raise the error of the first refused record, as the commit of a transaction does."""
        for (topic, key, value, timestamp, *_), on_delivery in self._open or ():
            error = self._kafka.refusal(topic, key, value, timestamp)
            if error is not None:
                if on_delivery is not None:
                    on_delivery(error, None)
                raise KafkaException(error)

    def flush(self) -> None:
        return None

    def abort(self) -> None:
        for (topic, key, _, _, _, partition), _ in self._open or ():
            count = self._kafka.partitions_of(topic)
            number = partition if partition is not None else partition_for(key or b"", count)
            self._kafka.logs[topic][number].append(None)
        self._open = None

    def partitions(self, topic: str) -> int:
        return self._kafka.partitions_of(topic)


class MemoryReader:
    """Read exact offset ranges of topics in memory."""

    def __init__(self, kafka: MemoryKafka) -> None:
        self._kafka = kafka

    def read(self, ranges: Mapping[TopicPartition, Range]) -> dict[TopicPartition, list[RawRecord]]:
        return {
            (topic, number): [
                record
                for record in self._kafka.logs[topic][number][start:end]
                if record is not None
            ]
            for (topic, number), (start, end) in ranges.items()
        }

    def read_columns(
        self,
        ranges: Mapping[TopicPartition, Range],
        most_bytes: int = 1 << 40,
        stuck_s: float | None = None,
        open_ended: Collection[TopicPartition] = (),
    ) -> ReadRanges:
        columns: dict[TopicPartition, RawColumns] = {}
        reached: dict[TopicPartition, int] = {}
        size = 0
        for part, found in self.read(ranges).items():
            taken = []
            for record in found:
                if size >= most_bytes:
                    break
                size += len(record.value or b"")
                taken.append(record)
            is_whole = len(taken) == len(found)
            columns[part] = columns_of(*part, taken)
            reached[part] = ranges[part][1] if is_whole else found[len(taken)].offset
        return ReadRanges(columns, reached)

    def connect(self, parts: Iterable[TopicPartition]) -> None: ...

    def read_ahead(self) -> None: ...

    def rest(self) -> None: ...

    def close(self) -> None:
        return None


class MemoryAdmin:
    """Answer the driver's questions about offsets from topics in memory."""

    def __init__(self, kafka: MemoryKafka) -> None:
        self._kafka = kafka

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        return {part: len(self._kafka.logs[part[0]][part[1]]) for part in parts}

    def begin_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, 0)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return dict(before)


class MemoryClients:
    """Make the clients of a slot, all of them over topics in memory."""

    def __init__(self, kafka: MemoryKafka, batches_topic: str) -> None:
        self._kafka = kafka
        self._batches_topic = batches_topic

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        return MemoryWriter(self._kafka, slot)

    def reader(self) -> Reader:
        return MemoryReader(self._kafka)

    def restorer(self) -> Reader:
        return MemoryReader(self._kafka)

    def global_reader(self) -> Reader:
        return MemoryReader(self._kafka)

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        return 0, len(self._kafka.logs[topic][partition])

    def all_watermarks(
        self, parts: Collection[TopicPartition], *, is_own: bool
    ) -> dict[TopicPartition, tuple[int, int]]:
        return {part: self.watermarks(*part, is_own=is_own) for part in parts}

    def batch_log(self) -> LogState:
        return self._kafka.batch_log(self._batches_topic)

    def close(self) -> None:
        return None
