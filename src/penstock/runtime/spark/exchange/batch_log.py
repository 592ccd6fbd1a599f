"""The batch log: what a batch is, and how much of it is done. Kafka has the last word.

A compacted topic of one partition per application. Each slot writes, inside its transaction, the
plan of the batch and a marker per task. So whatever dies, and even if Spark's checkpoint is lost,
the next leader finds a batch that was committed in part and runs it again over the same ranges,
and tasks that had committed only recompute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer, new_producer
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.stage_request import Part

PLAN_KEY = "plan"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The input of one batch: offset ranges, the wall clock, and how far global tables go."""

    batch: int
    start: Mapping[Part, int]
    end: Mapping[Part, int]
    clock_ms: int
    global_ends: Mapping[Part, int]

    @property
    def has_input(self) -> bool:
        return self.start != self.end

    def to_json(self) -> bytes:
        return json.dumps(
            {
                "batch": self.batch,
                "start": listed(self.start),
                "end": listed(self.end),
                "clock_ms": self.clock_ms,
                "global_ends": listed(self.global_ends),
            }
        ).encode()

    @staticmethod
    def from_json(data: bytes) -> BatchPlan:
        read = json.loads(data)
        return BatchPlan(
            read["batch"],
            parts_of(read["start"]),
            parts_of(read["end"]),
            read["clock_ms"],
            parts_of(read["global_ends"]),
        )


@dataclass(slots=True)
class LogState:
    """What the log says now."""

    plan: BatchPlan | None = None
    #: The last batch of which every task has finished.
    complete: int = -1
    #: By task and stage: the last batch that was committed there.
    markers: dict[tuple[TaskId, int], int] = field(default_factory=dict)
    #: By task: the last batch it committed, and its clocks before and after.
    clocks: dict[TaskId, tuple[int, Clocks | None, Clocks]] = field(default_factory=dict)
    fingerprint: str | None = None

    @property
    def has_unfinished(self) -> bool:
        return self.plan is not None and self.plan.batch > self.complete

    def done(self, batch: int, stage: int) -> frozenset[TaskId]:
        """The tasks that committed this stage of this batch."""
        return frozenset(t for (t, s), b in self.markers.items() if s == stage and b == batch)

    def clocks_at(self, batch: int) -> dict[TaskId, Clocks]:
        """The clocks of all tasks as they stand when a batch begins, also for the second time."""
        noted = {
            task: before if committed == batch else after
            for task, (committed, before, after) in self.clocks.items()
        }
        return {task: clocks for task, clocks in noted.items() if clocks is not None}

    def apply(self, key: str, value: bytes | str | None) -> None:
        """Takes one record of the log into account."""
        if value is None:
            return
        data = value.encode() if isinstance(value, str) else bytes(value)
        if key == PLAN_KEY:
            self.plan = BatchPlan.from_json(data)
        elif key == "complete":
            self.complete = int(data)
        elif key == "topology":
            self.fingerprint = data.decode()
        elif key.startswith("task/"):
            _, task, stage = key.split("/")
            read = json.loads(data)
            self.markers[TaskId.parse(task), int(stage)] = read["batch"]
            self.clocks[TaskId.parse(task)] = read["batch"], read["before"], read["clocks"]


class BatchLog:
    """The leader's hand on the log. Making one fences every older leader's writes."""

    def __init__(
        self,
        topic: str,
        consumer: Mapping[str, Any],
        producer: Mapping[str, Any],
        *,
        exactly_once: bool,
    ) -> None:
        self.topic = topic
        self._consumer_config = dict(consumer)
        self._exactly_once = exactly_once
        settings = dict(producer)
        if exactly_once:
            settings["transactional.id"] = f"{topic}-leader"
        self._producer = new_producer(settings)
        if exactly_once:
            self._producer.init_transactions(30.0)
        self.state = LogState()

    def read(self) -> LogState:
        """Reads the whole log and keeps its state up to date from here on."""
        self.state = read_log(self.topic, self._consumer_config)
        return self.state

    def begin(self, plan: BatchPlan) -> None:
        """Takes the plan as the newest; without transactions, writes it down before it runs.

        In a transaction each slot writes the plan beside its markers: a batch of which nothing is
        committed has left no trace, and may as well be planned anew.
        """
        if not self._exactly_once:
            self._write(PLAN_KEY, plan.to_json())
        self.state.plan = plan

    def finish(self, batch: int) -> None:
        """Writes that every task of the batch has committed."""
        self._write("complete", str(batch).encode())
        self.state.complete = batch

    def set_fingerprint(self, fingerprint: str) -> None:
        """Writes which topology this application runs, so that another one is refused."""
        self._write("topology", fingerprint.encode())
        self.state.fingerprint = fingerprint

    def close(self) -> None:
        self._producer.flush(5.0)

    def _write(self, key: str, value: bytes) -> None:
        if self._exactly_once:
            self._producer.begin_transaction()
            self._producer.produce(self.topic, value, key, partition=0)
            self._producer.commit_transaction(30.0)
        else:
            self._producer.produce(self.topic, value, key, partition=0)
            self._producer.flush(30.0)


def read_log(topic: str, consumer_settings: Mapping[str, Any]) -> LogState:
    """Reads a whole batch log; it is compacted, so it stays short.

    A transaction that another slot has open hides what was committed after it began: the end is
    only reached when every record that was there has been decided.
    """
    consumer = new_consumer(
        {
            **consumer_settings,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            # The broker answers a question for more than there is only after this time.
            "fetch.wait.max.ms": 10,
        }
    )
    state = LogState()
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(30.0)
            if message is None:
                raise _silent(topic)
            error = message.error()
            if error is None:
                state.apply(bytes(message.key() or b"").decode(), message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), cached=True)
                if (message.offset() or 0) >= high:
                    return state
            else:
                raise _silent(topic, error)
    finally:
        consumer.close()


def listed(offsets: Mapping[Part, int]) -> list[list[Any]]:
    """Offsets as JSON has them: it knows no pairs as keys."""
    return [[topic, number, at] for (topic, number), at in sorted(offsets.items())]


def parts_of(offsets: list[list[Any]]) -> dict[Part, int]:
    """Offsets back from what `listed` made of them."""
    return {(topic, number): at for topic, number, at in offsets}


def _silent(topic: str, error: KafkaError | None = None) -> StreamsError:
    return StreamsError(
        "batch-log",
        f"the batch log {topic!r} cannot be read: {error.str() if error else 'no answer in 30 s'}",
        fix="check that the broker is up and that the topic has not been deleted",
    )
