"""How a slot writes to Kafka: through one producer, with one transaction per stage of a batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_producer, sendable_time
from penstock.kafka.error_table import Verdict, verdict
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition

#: The largest record of a repartition topic; the topics are created with this limit.
LARGEST_BUNDLE = 16 * 1024 * 1024

FAST_WRITING: dict[str, Any] = {
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 512 * 1024,
    "linger.ms": 5,
    # While the broker still writes the markers of the last transaction, it refuses to begin the
    # next one. The client asks again after this time.
    "retry.backoff.ms": 20,
    "batch.num.messages": 50_000,
    "batch.size": 1_000_000,
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    # A bundle may contain a single record that is as large as a topic allows.
    "message.max.bytes": LARGEST_BUNDLE,
}
#: Limits for the steps of a commit. A partition whose leader was killed has a new leader after
#: ten seconds. A client that takes much longer does not recover; a new client is faster.
_OFFSETS_S, _DELIVERY_S, _COMMIT_S, _ABORT_S = 15.0, 30.0, 30.0, 5.0
#: The same for a commit without a transaction.
_FLUSH_S = 60.0
#: A topic that is being created appears within this time.
_PATIENCE_S = 3.0
#: How long a call of the client may take beyond its own limit.
_GRACE_S = 3.0
#: How often a commit that waits for deliveries checks whether the transaction has failed.
_LOOK_S = 0.5


class Writer(Protocol):
    """Send a slot's records; all records between ``begin`` and ``commit`` become visible at once.

    Without a transaction (``is_transactional`` is false) each record is visible when it arrives.
    """

    @property
    def is_transactional(self) -> bool: ...

    @property
    def is_usable(self) -> bool:
        """Return whether the next batch may use this writer; otherwise it needs a new one."""

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
        """Send one record; ``on_delivery`` is called with an error or None, and the message."""

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Send many records, all with these headers.

        If ``partition`` is None, each key determines the partition of its record.
        """

    def commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        """Make everything since ``begin`` visible, and commit the source offsets with it."""

    def flush(self) -> None: ...

    def abort(self) -> None: ...

    def partitions(self, topic: str) -> int: ...


class KafkaWriter:
    """Write through one producer that stays connected between batches.

    With exactly-once, each stage of a batch is one transaction.
    """

    def __init__(self, config: Mapping[str, Any], transactional_id: str | None) -> None:
        self.is_transactional = transactional_id is not None
        settings = {**FAST_WRITING, **config}
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        # Not a method of this object: the producer would then keep it, and it the producer, until
        # garbage is collected, with threads and connections.
        lost = self._noticed_loss = threading.Event()
        settings["error_cb"] = partial(_notice_loss, lost)
        self._producer = new_producer(settings)
        self._failed: KafkaError | None = None
        #: Whether a transaction has begun that is not committed.
        self._is_open = False
        self._partitions: dict[str, int] = {}
        #: The topics that were written to, so that an error can name one that does not exist.
        self._topics: set[str] = set()
        if self.is_transactional:
            self._producer.init_transactions(30.0)

    @property
    def is_usable(self) -> bool:
        # The client calls its error callback only inside a call such as this one.
        self._producer.poll(0)
        return not self._noticed_loss.is_set()

    def begin(self) -> None:
        if self.is_transactional:
            self._producer.begin_transaction()
            self._is_open = True

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
        if not self.is_transactional:
            # Without a transaction, only the delivery report says that a record was not written.
            on_delivery = self._reporting(on_delivery)
        self._topics.add(topic)
        where = -1 if partition is None else partition
        noted: Any = list(headers) if headers else None
        while True:
            try:
                time_ms = sendable_time(timestamp)
                self._producer.produce(topic, value, key, where, on_delivery, None, time_ms, noted)
                return
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                self._refused(error, on_delivery)
                return

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        # Positional arguments save a fifth of the time per record. ``produce`` has two parameters
        # for a callback; if both are given, it uses only the first. The timestamp is computed as
        # in ``sendable_time``, but without the cost of a call.
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
                except KafkaException as error:
                    self._refused(error, report)
                    break

    def commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        """Make everything since ``begin`` visible at once, and commit the source offsets."""
        if self.is_transactional:
            self._commit(offsets, group)
            return
        left = self._flushed()
        self._raise_refusal()
        if left or self._failed is not None:
            self._check_topics()
            raise StreamsError(
                "write-failed",
                f"{left} records could not be written to Kafka: {self._failed}",
                fix="check the broker; the batch runs again after a restart",
            )

    def _flushed(self) -> int:
        """Wait until all records have arrived; return how many have not.

        For 30 s the client hopes that a topic which it does not know has just been created. A
        program that misspelt the topic should not have to wait so long.
        """
        left = self._producer.flush(_PATIENCE_S)
        if left:
            self._check_topics()
            left = self._producer.flush(_FLUSH_S - _PATIENCE_S)
        return left

    def _commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        self._raise_refusal()
        try:
            if offsets:
                positions = [KafkaPartition(*part, offset) for part, offset in offsets.items()]
                send_offsets = self._producer.send_offsets_to_transaction
                self._in_time(lambda: send_offsets(positions, group, _OFFSETS_S), _OFFSETS_S)
            self._wait_for_delivery()
            self._in_time(lambda: self._producer.commit_transaction(_COMMIT_S), _COMMIT_S)
            self._is_open = False
        except KafkaException as error:
            # The error of the call may say only that the transaction has failed, but not why.
            failure = self._transaction_error() or error
            if verdict(failure.args[0]) in (Verdict.WAIT, Verdict.RENEW):
                # The client reports only how many records did not arrive. So check whether one of
                # the topics is missing.
                self._check_topics()
            raise failure from error

    def _wait_for_delivery(self) -> None:
        """Wait until all records have arrived, or the transaction has failed.

        When a record was refused, the client stops sending the others. But its own commit still
        waits for them until its time is over.
        """
        began = time.monotonic()
        while left := self._producer.flush(_LOOK_S):
            failure = self._transaction_error()
            if failure is not None:
                raise failure
            waited_s = time.monotonic() - began
            if waited_s > _PATIENCE_S:
                self._check_topics()
            if waited_s > _DELIVERY_S:
                raise StreamsError(
                    "broker-away",
                    f"Kafka did not take {left} records within {_DELIVERY_S:.0f} s",
                    fix="check the broker; the batch runs again when it is back",
                )

    def _transaction_error(self) -> KafkaException | None:
        """Return the error with which the transaction has failed, if it has."""
        try:
            # Inside a transaction this call always fails. If the transaction has failed, the call
            # raises that error.
            self._producer.begin_transaction()
        except KafkaException as error:
            if error.args[0].txn_requires_abort() or error.args[0].fatal():
                # The delivery reports of refused records may arrive a moment later.
                self._producer.poll(0.1)
                return error
        return None

    def _refused(self, error: KafkaException, report: Any) -> None:
        """Note a record that the client itself refuses; the commit then fails with that error."""
        (report or self._delivered)(error.args[0], None)
        self._failed = error.args[0]

    def _raise_refusal(self) -> None:
        if self._failed is not None and verdict(self._failed) is Verdict.RECORD:
            raise KafkaException(self._failed)

    def _in_time(self, call: Callable[[], None], limit_s: float) -> None:
        """Call the client in a thread, and stop waiting for it soon after ``limit_s``.

        librdkafka's calls may never return, whatever their own limit is: after the broker has
        ended a transaction by itself, or after a group's coordinator was killed.
        """
        done: Future[None] = Future()

        def run() -> None:
            try:
                call()
                done.set_result(None)
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                done.set_exception(error)

        threading.Thread(target=run, name="penstock-commit", daemon=True).start()
        try:
            done.result(limit_s + _GRACE_S)
        except TimeoutError:
            self._noticed_loss.set()
            raise StreamsError(
                "broker-away",
                "Kafka did not answer while a batch was being committed",
                fix="check the broker; the batch runs again when it is back",
            ) from None

    def flush(self) -> None:
        self._producer.flush(_FLUSH_S)

    def abort(self) -> None:
        if not self.is_transactional:
            # Records that are still waiting keep their delivery callbacks, and those this object
            # with its producer. The reports of purged records come with the flush.
            self._producer.purge()
            self._producer.flush(_ABORT_S)
        elif self._is_open and not self._noticed_loss.is_set():
            # If this fails, or brokers are lost, the next producer with this transactional id
            # aborts the open transaction.
            self._producer.abort_transaction(_ABORT_S)

    def partitions(self, topic: str) -> int:
        if topic not in self._partitions:
            found = self._producer.list_topics(topic, timeout=10.0).topics.get(topic)
            count = 0 if found is None or found.error is not None else len(found.partitions)
            if count == 0:
                raise _missing(topic)
            self._partitions[topic] = count
        return self._partitions[topic]

    def _check_topics(self) -> None:
        """Raise an error if one of the topics that were written to does not exist."""
        there = self._producer.list_topics(timeout=10.0).topics
        for topic in sorted(self._topics):
            if topic not in there:
                raise _missing(topic)

    def _reporting(self, on_delivery: Any) -> Callable[[KafkaError | None, Any], None]:
        if on_delivery is None:
            return self._delivered

        def delivered(error: KafkaError | None, message: Message | None) -> None:
            self._delivered(error, message)
            on_delivery(error, message)

        return delivered

    def _delivered(self, error: KafkaError | None, message: Message | None) -> None:
        if error is None:
            return
        # When one record is refused, others fail with it. Only the refused one has the reason.
        if self._failed is None or verdict(self._failed) is not Verdict.RECORD:
            self._failed = error


def _notice_loss(lost: threading.Event, error: KafkaError) -> None:
    if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
        lost.set()


def _missing(topic: str) -> StreamsError:
    return StreamsError(
        "missing-topic",
        f"output topic {topic!r} does not exist",
        fix=f"create it: penstock topics create {topic}",
    )
