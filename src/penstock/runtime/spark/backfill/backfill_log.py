"""What a backfill has done so far, in a topic of its own, so that it can be run again.

The topic is compacted and has one partition. Its records are the stage of the backfill, and for
each partition of an output topic how many records of history are written. The latter are written in
the transactions of those records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.clients import new_consumer, new_producer
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.batch_log import offset_rows, offsets_from

_STAGE = "stage"
_WRITTEN = "written/"
#: As in the batch log: no reader uses the time.
_TIME_MS = 1
_ANSWER_S = 30.0


class Stage(StrEnum):
    """How far a backfill has come. ``SEEDED`` means that only the offsets may be missing."""

    SEEDING = "seeding"
    SEEDED = "seeded"
    DONE = "done"


@dataclass(frozen=True)
class Progress:
    """What a backfill was asked for, where live begins, and how far it has come."""

    stage: Stage
    #: What it was asked for; another request is another backfill.
    request: str
    #: The offset at which the application begins to read, for every source partition.
    offsets: Mapping[TopicPartition, int]
    #: How many records each history had.
    records: Mapping[str, int]

    def to_json(self) -> bytes:
        told = {
            "stage": self.stage.value, "request": self.request,
            "offsets": offset_rows(self.offsets), "records": dict(self.records),
        }  # fmt: skip
        return json.dumps(told).encode()

    @staticmethod
    def from_json(data: bytes) -> Progress:
        read = json.loads(data)
        return Progress(
            Stage(read["stage"]), read["request"], offsets_from(read["offsets"]), read["records"]
        )


@dataclass
class BackfillState:
    """The content of the log."""

    progress: Progress | None = None
    #: How many records of history are in each partition of an output topic.
    written: dict[TopicPartition, int] = field(default_factory=dict)


def backfill_topic(application_id: str) -> str:
    return f"{application_id}-penstock-backfill"


def topic_spec(application_id: str, replication: int) -> TopicSpec:
    settings = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    return TopicSpec(backfill_topic(application_id), 1, replication, settings)


def written_record(part: TopicPartition, count: int) -> tuple[bytes, bytes]:
    """Return key and value of the record that says how much of a partition is written."""
    topic, number = part
    return f"{_WRITTEN}{number}/{topic}".encode(), str(count).encode()


class BackfillLog:
    """Reads and writes the log of one application's backfill."""

    def __init__(
        self, topic: str, consumer: Mapping[str, Any], producer: Mapping[str, Any]
    ) -> None:
        self.topic = topic
        self._consumer = dict(consumer)
        self._producer = dict(producer)

    def note(self, progress: Progress) -> None:
        """Write a stage; it is there when this returns."""
        producer = new_producer(self._producer)
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failures.append(error)

        producer.produce(self.topic, progress.to_json(), _STAGE, 0, delivered, timestamp=_TIME_MS)
        if producer.flush(_ANSWER_S) or failures:
            raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))

    def read(self) -> BackfillState:
        """Return what is committed."""
        state = BackfillState()
        consumer = new_consumer(
            {**self._consumer, "enable.partition.eof": True, "isolation.level": "read_committed"}
        )
        try:
            consumer.assign([KafkaPartition(self.topic, 0, 0)])
            while (message := consumer.poll(_ANSWER_S)) is not None:
                error = message.error()
                if error is None:
                    _apply(state, message.key() or b"", message.value() or b"")
                elif error.code() == KafkaError._PARTITION_EOF:
                    return state
                elif error.fatal() or not error.retriable():
                    raise KafkaException(error)
        finally:
            consumer.close()
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def _apply(state: BackfillState, key: bytes | str, value: bytes | str) -> None:
    name = key if isinstance(key, str) else key.decode()
    data = value.encode() if isinstance(value, str) else value
    if name == _STAGE:
        state.progress = Progress.from_json(data)
    elif name.startswith(_WRITTEN):
        number, _, topic = name.removeprefix(_WRITTEN).partition("/")
        state.written[topic, int(number)] = int(data)
