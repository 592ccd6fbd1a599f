"""A task's output: its topics, changelogs and repartition topics, in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Message

from penstock.kernel.raw_columns import Timestamps, listed
from penstock.kernel.settings import TaskSettings
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.bundles import (
    Bundle,
    bundle_header,
    decode_headers,
    encode_headers,
)
from penstock.runtime.spark.exchange.plan import Plan, driver_sinks, rows_topic
from penstock.runtime.spark.exchange.work import Work, size_of
from penstock.runtime.spark.worker.changelog_buffer import ChangelogBuffer
from penstock.runtime.spark.worker.repartition_topic import RepartitionTopic
from penstock.runtime.spark.worker.writer import Writer
from penstock.state.buffer.buffer_value import CHANGELOG_VERSION
from penstock.state.spec import StoreKind

_Delivered = Callable[[KafkaError | None, Message], None]


@dataclass(frozen=True, slots=True)
class _Packed:
    """A bundle as it goes over the wire."""

    data: bytes
    newest_ms: int
    header: Headers
    delivered: _Delivered


class TaskOutput:
    """Collect and send everything that one stream task writes in one run of a batch.

    Changelog records wait until the end of the run. So a key that changed many times is logged
    once: the store needs only the last value. Records for repartition topics wait too, because
    they are written as bundles.
    """

    def __init__(
        self,
        task: TaskId,
        plan: Plan,
        settings: TaskSettings,
        writer: Writer,
        *,
        as_records: bool = False,
    ) -> None:
        self._task = task
        self._settings = settings
        self.writer = writer
        # In the format "records" nothing is bundled: every record is a record of the repartition
        # topic, as in Java.
        self._repartition = {
            settings.topic(name): RepartitionTopic(name, plan.partitions[name])
            for run in plan.runs
            for name in run.topics
            if plan.is_internal(name)
        }
        #: Where rows wait for the driver, by the names that ``to_spark`` and ``to_lake`` send to.
        self._rows_topics = {
            str(sink.topic): rows_topic(settings.application_id, sink)
            for sink in driver_sinks(plan.graph)
        }
        self._as_records = as_records
        versioned = {
            name
            for name, spec in plan.graph.stores.items()
            if spec.kind is StoreKind.VERSIONED_KEY_VALUE
        }
        #: By store: headers that Java expects on its changelog records.
        self._versions: dict[str, Headers] = {
            name: (CHANGELOG_VERSION,)
            for name, spec in plan.graph.stores.items()
            if spec.kind is StoreKind.TIME_ORDERED_BUFFER and not spec.persistent
        }
        logged = ChangelogBuffer(versioned)
        self.log, self.log_all, self._logged = logged.log, logged.log_all, logged
        self.sent = self._bytes = self._passed_before = 0
        #: By topic: how many records the task has ever sent, repartitioned ones too.
        self.passed: defaultdict[str, int] = defaultdict(int)
        self._sequence = 0
        #: The next offset of every repartition topic partition written to in this run.
        self.written: dict[TopicPartition, int] = {}
        self._packed: dict[TopicPartition, list[_Packed]] = {}

    def start_run(self) -> None:
        """Forget the records and offsets of an earlier run."""
        self.sent = self._bytes = 0
        self._passed_before = sum(self.passed.values())
        self.written = {}
        self._sequence = 0
        self._packed.clear()
        for topic in self._repartition.values():
            topic.clear()

    @property
    def work(self) -> Work:
        """What this run has written, without changelogs."""
        records = sum(self.passed.values()) - self._passed_before
        return Work(records_written=records, bytes_written=self._bytes)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        self.passed[topic] += 1
        repartition = self._repartition.get(topic)
        if repartition is not None:
            encoded = encode_headers(headers) if headers else None
            self._sequence += 1
            repartition.add(self._sequence, key, value, timestamp, encoded, partition)
        elif topic in self._rows_topics:
            name = self._rows_topics[topic]
            self._bytes += len(key or b"") + len(value or b"")
            self.writer.send(
                name, key, value, timestamp, headers, self._task.partition, self._noted(name)
            )
        else:
            self.sent += 1
            self._bytes += len(key or b"") + len(value or b"")
            self.writer.send(topic, key, value, timestamp, headers, partition)

    def send_columns(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Timestamps,
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None:
        """Send many records to one topic; ``headers`` is None if no record has headers."""
        repartition = self._repartition.get(topic)
        if headers is not None or topic in self._rows_topics:
            each = [()] * len(keys) if headers is None else headers
            for record in zip(keys, values, listed(timestamps), each, strict=True):
                self.send(topic, *record, partition)
            return
        self.passed[topic] += len(keys)
        if repartition is not None:
            repartition.add_all(self._sequence + 1, keys, values, timestamps, partition)
            self._sequence += len(keys)
        else:
            self.sent += len(keys)
            self._bytes += size_of(keys) + size_of(values)
            self.writer.send_all(topic, keys, values, listed(timestamps), partition=partition)

    def pack_repartitioned(self) -> None:
        """Make bundles of the records of repartition topics at the end of a run."""
        for topic, repartition in self._repartition.items():
            noted = self._noted(repartition.name)
            for partition, bundle in repartition.bundles():
                if self._as_records:
                    self._write_records(topic, partition, bundle, noted)
                    continue
                newest = int(max(bundle.timestamps))
                for sequence, data in bundle.packed():
                    header = bundle_header(self._task, sequence)
                    self._bytes += len(data)
                    packed = _Packed(data, newest, header, noted)
                    self._packed.setdefault((topic, partition), []).append(packed)

    def _write_records(self, topic: str, partition: int, bundle: Bundle, noted: Any) -> None:
        self._bytes += size_of(bundle.keys) + size_of(bundle.values)
        headers = bundle.headers or [None] * len(bundle)
        rows = zip(bundle.keys, bundle.values, listed(bundle.timestamps), headers, strict=True)
        for key, value, timestamp, encoded in rows:
            self.writer.send(
                topic, key, value, timestamp, decode_headers(encoded), partition, noted
            )

    def partitions(self, topic: str) -> int:
        repartition = self._repartition.get(topic)
        return self.writer.partitions(topic) if repartition is None else repartition.partitions

    def write_changelogs(self, ends: dict[str, int]) -> int:
        """Send the collected changelog records.

        Args:
            ends: filled with the next offset of each changelog, by store, on delivery.
        """
        count, partition = 0, self._task.partition
        for store, logged in self._logged.take():
            topic, last = self._settings.changelog_topic(store), len(logged.keys) - 1
            count += last + 1
            headers, noted = self._versions.get(store, ()), _noting(ends, store)
            if logged.headers is not None:
                for place in range(last):
                    record, own = logged.at(place), logged.headers[place]
                    # Only the program's own output is sent without a delivery report.
                    self.writer.send(topic, *record, own, partition, noted)
                headers = logged.headers[last]
            elif last > 0:
                self.writer.send_all(topic, *logged.until(last), headers, partition)
            self.writer.send(topic, *logged.at(last), headers, partition, noted)
        return count

    def forget_changelogs(self) -> None:
        self._logged.clear()

    def take_packed(self) -> dict[TopicPartition, list[_Packed]]:
        """Return the bundles of this run, and forget them."""
        packed, self._packed = self._packed, {}
        return packed

    def _noted(self, name: str) -> _Delivered:
        """Return a delivery callback that notes the next offset of a partition of this topic."""
        written = self.written

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                part = name, message.partition() or 0
                written[part] = max(written.get(part, 0), (message.offset() or 0) + 1)

        return delivered


def send_bundles(outputs: Iterable[TaskOutput], writer: Writer) -> None:
    """Send the bundles of some tasks, partition by partition.

    The Kafka client makes one request of the bundles that follow each other to a partition. Sent
    task by task, n tasks would need n requests for each partition.
    """
    taken = [output.take_packed() for output in outputs]
    for topic, partition in sorted({part for packed in taken for part in packed}):
        for packed in taken:
            for each in packed.get((topic, partition), ()):
                writer.send(
                    topic, None, each.data, each.newest_ms, each.header, partition, each.delivered
                )


def _noting(ends: dict[str, int], store: str) -> _Delivered:
    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            ends[store] = (message.offset() or 0) + 1

    return delivered
