"""Topics in memory with transactions, behind the protocols of a slot's clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.admin_answers import PartitionState, Topic
from penstock.kernel.raw_columns import RawColumns, columns_of, listed
from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.bundles import BUNDLE_HEADER, decode_headers, unpacked
from penstock.runtime.spark.worker.reader import Reader, ReadRanges
from penstock.runtime.spark.worker.writer import Writer


class InjectedFaultError(Exception):
    """What a writer raises when a test wants a commit to fail."""


class Delivery(NamedTuple):
    """What a delivery report says: where the record went."""

    at: int
    number: int

    def offset(self) -> int:
        return self.at

    def partition(self) -> int:
        return self.number


class MemoryKafka:
    """Every committed record, by partition and in the order of the commits.

    A transaction's end takes an offset in each partition it wrote to, and an aborted record keeps
    its own, as in Kafka: both are None here and no reader sees them.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.partitions = partitions
        self.logs: dict[str, list[list[RawRecord | None]]] = {}
        self.committed: list[RawRecord] = []
        self.group: dict[TopicPartition, int] = {}
        self.commits = 0
        #: Which driver leads, as the batch log would say.
        self.generation = 1, "staged"
        #: Asked with the number of each commit: "before", "after" (it had its effect) or None.
        self.fault: Callable[[int], str | None] = lambda number: None
        #: Asked with topic, key, value and timestamp: the error with which a record is refused.
        self.refusal: Callable[..., KafkaError | None] = lambda *record: None
        self._writers: Counter[int] = Counter()

    def create(self, topic: str, partitions: int | None = None) -> None:
        if topic not in self.logs:
            self.logs[topic] = [[] for _ in range(partitions or self.partitions)]

    def partitions_of(self, topic: str) -> int:
        self.create(topic)
        return len(self.logs[topic])

    def topics(self) -> dict[str, Topic]:
        return {
            name: Topic(name, tuple(PartitionState(n, 0, (0,), (0,)) for n in range(len(log))))
            for name, log in self.logs.items()
        }

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
        partition: int | None = None,
    ) -> int:
        """Adds a committed record; gives its offset."""
        count = self.partitions_of(topic)
        if partition is None:
            partition = 0 if key is None else partition_for(key, count)
        log = self.logs[topic][partition]
        record = RawRecord(topic, partition, len(log), timestamp, key, value, tuple(headers))
        log.append(record)
        self.committed.append(record)
        return record.offset

    def ends(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        return {
            (topic, number): len(self.logs[topic][number])
            for topic, count in topics.items()
            for number in range(count)
        }

    def batch_log(self, topic: str) -> LogState:
        state = LogState()
        for record in self.logs.get(topic, [[]])[0]:
            if record is not None:
                state.apply((record.key or b"").decode(), record.value)
        state.generation, state.run_id = self.generation
        return state

    def new_writer(self, slot: int) -> MemoryWriter:
        self._writers[slot] += 1
        return MemoryWriter(self, slot, self._writers[slot])

    def is_fenced(self, slot: int, epoch: int) -> bool:
        return self._writers[slot] != epoch


def unbundled(record: RawRecord) -> list[RawRecord]:
    """The records that a record of a repartition topic stands for; any other stands for itself."""
    if not any(name == BUNDLE_HEADER for name, _ in record.headers):
        return [record]
    bundle = unpacked(record.value or b"")
    headers = bundle.headers or [None] * len(bundle)
    rows = zip(listed(bundle.timestamps), bundle.keys, bundle.values, headers, strict=True)
    return [
        record._replace(timestamp=at, key=key, value=value, headers=decode_headers(encoded))
        for at, key, value, encoded in rows
    ]


class MemoryWriter:
    """Keeps a transaction's records until it commits."""

    is_transactional = True
    is_usable = True

    def __init__(self, kafka: MemoryKafka, slot: int, epoch: int) -> None:
        self._kafka = kafka
        self._slot = slot
        self._epoch = epoch
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
        """Fail for the first record that is refused, as a transaction does."""
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
    """Reads exact ranges."""

    def __init__(self, kafka: MemoryKafka) -> None:
        self._kafka = kafka

    def read(
        self, ranges: Mapping[TopicPartition, tuple[int, int]]
    ) -> dict[TopicPartition, list[RawRecord]]:
        return {
            (topic, number): [
                record
                for record in self._kafka.logs[topic][number][start:end]
                if record is not None
            ]
            for (topic, number), (start, end) in ranges.items()
        }

    def read_columns(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], most_bytes: int = 1 << 40
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

    def close(self) -> None:
        return None


class MemoryAdmin:
    """What the driver asks a cluster, answered from topics in memory."""

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
    """A slot's clients over topics in memory."""

    def __init__(self, kafka: MemoryKafka, batches_topic: str) -> None:
        self._kafka = kafka
        self._batches_topic = batches_topic

    def writer(self, slot: int, *, one_by_one: bool = False) -> Writer:
        return self._kafka.new_writer(slot)

    def reader(self) -> Reader:
        return MemoryReader(self._kafka)

    def restorer(self) -> Reader:
        return MemoryReader(self._kafka)

    def global_reader(self) -> Reader:
        return MemoryReader(self._kafka)

    def watermarks(self, topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        return 0, len(self._kafka.logs[topic][partition])

    def batch_log(self) -> LogState:
        return self._kafka.batch_log(self._batches_topic)

    def close(self) -> None:
        return None
