"""Where a task's records go on Spark: to Kafka inside the slot's transaction, or to the shuffle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_producer
from penstock.kernel.raw_columns import Timestamps, listed
from penstock.kernel.settings import TaskSettings
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.rows import FOR_SPARK, RowBuffer, encode_headers
from penstock.runtime.spark.exchange.shuffled_topic import ShuffledTopic
from penstock.runtime.spark.exchange.stage_request import Part
from penstock.runtime.spark.worker.changelog_buffer import ChangelogBuffer
from penstock.state.buffer_value import CHANGELOG_VERSION
from penstock.state.spec import StoreKind
from penstock.topology.nodes.to_spark import SPARK_TOPIC

FAST_WRITING: dict[str, Any] = {
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 512 * 1024,
    "linger.ms": 5,
    # A transaction that begins while the last one is still being marked is asked for again.
    "retry.backoff.ms": 20,
    "batch.num.messages": 50_000,
    "batch.size": 1_000_000,
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
}
#: Tells where the changelog records of a batch begin, so that a replay can leave them out.
BATCH_HEADER = "penstock.batch"
#: Limits for the steps of a commit.
_OFFSETS_S, _COMMIT_S = 15.0, 60.0


class Writer(Protocol):
    """Where a slot's records go. What lies between ``begin`` and ``commit`` appears at once."""

    @property
    def is_transactional(self) -> bool: ...

    @property
    def is_usable(self) -> bool:
        """Whether the next batch may use it; otherwise it needs a new one."""

    def begin(self) -> None: ...

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
        """Sends one record; ``on_delivery`` gets an error and a message with its offset."""

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Sends many records, all with these headers, to a partition or as their keys say."""

    def commit(self, offsets: Mapping[Part, int], group: Any) -> None:
        """Makes everything since ``begin`` visible, source offsets included."""

    def flush(self) -> None: ...

    def abort(self) -> None: ...

    def partitions(self, topic: str) -> int: ...


class KafkaWriter:
    """One producer per slot, kept warm; under exactly-once its transactions follow the batches."""

    def __init__(self, config: Mapping[str, Any], transactional_id: str | None) -> None:
        self.is_transactional = transactional_id is not None
        settings = {**FAST_WRITING, **config}
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        settings["error_cb"] = self._noticed
        self._is_lost = False
        self._producer = new_producer(settings)
        self._failed: KafkaError | None = None
        self._partitions: dict[str, int] = {}
        #: Where records went, for the day when they do not arrive.
        self._topics: set[str] = set()
        if self.is_transactional:
            self._producer.init_transactions(30.0)

    @property
    def is_usable(self) -> bool:
        # Errors are told only to those who ask.
        self._producer.poll(0)
        return not self._is_lost

    def begin(self) -> None:
        if self.is_transactional:
            self._producer.begin_transaction()

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
        if on_delivery is None and not self.is_transactional:
            # Without a transaction nobody else notices a record that could not be written.
            on_delivery = self._delivered
        self._topics.add(topic)
        where = -1 if partition is None else partition
        noted: Any = list(headers) if headers else None
        while True:
            try:
                # librdkafka takes 0 for "now", which is further off than a millisecond.
                self._producer.produce(
                    topic, value, key, where, on_delivery, None, timestamp or 1, noted
                )
                return
            except BufferError:
                self._producer.poll(0.1)

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        # Arguments by position take a fifth off the time of a record. Only the first of the two
        # places for a callback is looked at once both are given.
        produce = self._producer.produce
        self._topics.add(topic)
        where = -1 if partition is None else partition
        report = None if self.is_transactional else self._delivered
        noted: Any = list(headers) or None
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            while True:
                try:
                    produce(topic, value, key, where, report, None, timestamp or 1, noted)
                    break
                except BufferError:
                    self._producer.poll(0.1)

    def commit(self, offsets: Mapping[Part, int], group: Any) -> None:
        """Makes everything since ``begin`` visible at once, source offsets included."""
        if self.is_transactional:
            self._in_time(lambda: self._commit(offsets, group))
            return
        left = self._producer.flush(60.0)
        if left or self._failed is not None:
            self._check_topics()
            raise StreamsError(
                "write-failed",
                f"{left} records could not be written to Kafka: {self._failed}",
                fix="check the broker; the batch runs again after a restart",
            )

    def _commit(self, offsets: Mapping[Part, int], group: Any) -> None:
        if offsets:
            positions = [TopicPartition(*part, offset) for part, offset in offsets.items()]
            self._producer.send_offsets_to_transaction(positions, group, _OFFSETS_S)
        try:
            self._producer.commit_transaction(_COMMIT_S)
        except KafkaException:
            # The client only counts the records that did not arrive.
            self._check_topics()
            raise

    def _in_time(self, call: Callable[[], None]) -> None:
        """Calls the client, but does not trust it to come back.

        A transaction that the broker has ended by itself, after an outage say, can keep
        librdkafka's calls for good, whatever their own limit is.
        """
        done: Future[None] = Future()

        def run() -> None:
            try:
                call()
                done.set_result(None)
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller
                done.set_exception(error)

        threading.Thread(target=run, name="penstock-commit", daemon=True).start()
        try:
            done.result(_OFFSETS_S + _COMMIT_S + 5.0)
        except TimeoutError:
            self._is_lost = True
            raise StreamsError(
                "broker-away",
                "Kafka did not answer while a batch was being committed",
                fix="check the broker; the batch runs again when it is back",
            ) from None

    def _noticed(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            self._is_lost = True

    def flush(self) -> None:
        self._producer.flush(60.0)

    def abort(self) -> None:
        if self._is_lost:
            # Whoever writes next under this name ends what this one left open.
            return
        if self.is_transactional:
            self._producer.abort_transaction(30.0)
        else:
            self._producer.purge()

    def partitions(self, topic: str) -> int:
        if topic not in self._partitions:
            found = self._producer.list_topics(topic, timeout=10.0).topics.get(topic)
            count = 0 if found is None or found.error is not None else len(found.partitions)
            if count == 0:
                raise _missing(topic)
            self._partitions[topic] = count
        return self._partitions[topic]

    def _check_topics(self) -> None:
        """Says so if one of the topics that were written to is not there."""
        there = self._producer.list_topics(timeout=10.0).topics
        for topic in sorted(self._topics):
            if topic not in there:
                raise _missing(topic)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed = error


class TaskOutput:
    """The collector of one stream task in one run of a batch.

    Changelog records wait until the end of the run, so that a key that changed many times is
    logged once; the store needs only the last value.
    """

    def __init__(
        self,
        task: TaskId,
        plan: Plan,
        settings: TaskSettings,
        writer: Writer,
        rows: RowBuffer,
        slots: int,
    ) -> None:
        self._task = task
        self._plan = plan
        self._settings = settings
        self.writer = writer
        self.rows = rows
        self.slots = slots
        self._sequence = 0
        self._shuffled = {
            settings.topic(name): ShuffledTopic(name, plan)
            for run in plan.runs
            for name in run.topics
            if plan.is_internal(name)
        }
        self._versioned = {
            name
            for name, spec in plan.graph.stores.items()
            if spec.kind is StoreKind.VERSIONED_KEY_VALUE
        }
        #: What Java expects beside the changelog records of a store.
        self._versions: dict[str, Headers] = {
            name: (CHANGELOG_VERSION,)
            for name, spec in plan.graph.stores.items()
            if spec.kind is StoreKind.TIME_ORDERED_BUFFER and not spec.persistent
        }
        logged = ChangelogBuffer(self._versioned)
        self.log, self.log_all, self._logged = logged.log, logged.log_all, logged
        runs = [run for run in plan.runs if run.subtopology == task.subtopology]
        self._runs_once = len(runs) == 1
        self.batch = 0
        self.is_replay = False
        self.sent = 0

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        shuffled = self._shuffled.get(topic)
        if shuffled is not None:
            self._sequence += 1
            encoded = encode_headers(headers) if headers else None
            shuffled.add(self._sequence, key, value, timestamp, encoded, partition)
        elif topic.startswith(SPARK_TOPIC):
            # Also in a replay: the function on the driver has not seen this batch yet.
            self._row_for_spark(topic, key, value, timestamp, headers)
        elif not self.is_replay:
            self.sent += 1
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
        """Sends many records to one topic; ``headers`` None: none has any."""
        shuffled = self._shuffled.get(topic)
        is_placed = shuffled is not None and partition is not None
        if headers is not None or is_placed or topic.startswith(SPARK_TOPIC):
            each = [()] * len(keys) if headers is None else headers
            for record in zip(keys, values, listed(timestamps), each, strict=True):
                self.send(topic, *record, partition)
        elif shuffled is not None:
            shuffled.add_all(self._sequence + 1, keys, values, timestamps)
            self._sequence += len(keys)
        elif not self.is_replay:
            self.sent += len(keys)
            self.writer.send_all(topic, keys, values, listed(timestamps), partition=partition)

    def pack_rows(self) -> None:
        """Turns what goes to later stages into rows, at the end of a run."""
        for shuffled in self._shuffled.values():
            self.rows.rows.extend(shuffled.rows(self._task, self.slots))

    def partitions(self, topic: str) -> int:
        shuffled = self._shuffled.get(topic)
        return self.writer.partitions(topic) if shuffled is None else shuffled.partitions

    def write_changelogs(self, ends: dict[str, int]) -> int:
        """Sends the collected changelog records; ``ends`` learns each changelog's next offset."""
        mark = (BATCH_HEADER, self.batch.to_bytes(8, "big"))
        count, partition = 0, self._task.partition
        for store, logged in self._logged.take():
            topic, last = self._settings.changelog_topic(store), len(logged.keys) - 1
            count += last + 1
            version = self._versions.get(store, ())
            first = (mark, *version)
            others = first if self._marks_all(store) else version
            if last > 0:
                self.writer.send(topic, *logged.at(0), first, partition)
                self.writer.send_all(topic, *logged.between(1, last), others, partition)
            noted = _noting(ends, store)
            headers = others if last > 0 else first
            self.writer.send(topic, *logged.at(last), headers, partition, noted)
        return count

    def _marks_all(self, store: str) -> bool:
        """Whether a batch may log a key of the store twice.

        Then the first of its records may be compacted away before the last, and all of them have
        to tell the batch.
        """
        return not self.writer.is_transactional or not self._runs_once or store in self._versioned

    def forget_changelogs(self) -> None:
        self._logged.clear()

    def start_run(self, batch: int, stage: int, *, is_replay: bool) -> None:
        self.batch, self.is_replay, self.sent = batch, is_replay, 0
        # What a task sends in a later stage of a batch comes after all that it sent before.
        self._sequence = stage << 40
        for shuffled in self._shuffled.values():
            shuffled.clear()

    def _row_for_spark(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        self._sequence += 1
        task = self._task
        self.rows.rows.append(
            (0, FOR_SPARK, topic, 0, task.subtopology, task.partition, self._sequence,
             timestamp, key, value, encode_headers(headers))
        )  # fmt: skip


def _missing(topic: str) -> StreamsError:
    return StreamsError(
        "missing-topic",
        f"output topic {topic!r} does not exist",
        fix=f"create it: penstock topics create {topic}",
    )


def _noting(ends: dict[str, int], store: str) -> Any:
    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            ends[store] = (message.offset() or 0) + 1

    return delivered
