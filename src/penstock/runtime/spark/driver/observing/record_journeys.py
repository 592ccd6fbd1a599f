"""Records of a running application's topics, and the sandbox that runs one of them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import Message

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.topic_reader import read_to_end
from penstock.runtime.local.journey.decoding import Pair
from penstock.runtime.local.journey.sandbox import Sandbox
from penstock.runtime.spark.driver.observing.topic_spans import (
    Offsets,
    Read,
    TopicSpans,
    headers_of,
)
from penstock.runtime.spark.exchange.questions import Look, SlotId, TakeTraces
from penstock.serving.application import NotAvailableError
from penstock.serving.journey.values import RecordWatch, State, TopicRecord, Trace, Traced
from penstock.topology.topology import Topology

#: Records beyond these bytes are left out, the oldest first.
_MOST_BYTES = 16 * 1024 * 1024


class TracingRunner(Protocol):
    """The part of ``BatchRunner`` that live traces need."""

    def answers(self, question: Callable[[SlotId], Look]) -> list[Any]: ...


class RecordJourneys:
    """Reads committed records, and runs them beside the application.

    Args:
        topology: the program.
        config: the configuration; that of a run, if a private broker was started.
        leading: returns what runs the application; None where another instance does.
        admin: opens the connection for questions about topics.
        read: reads spans of partitions.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        *,
        leading: Callable[[], TracingRunner | None] = lambda: None,
        admin: Callable[[Mapping[str, Any]], Offsets] = Admin,
        read: Read = read_to_end,
    ) -> None:
        self._leading = leading
        self._sandbox = Sandbox(topology, config)
        self._spans = TopicSpans(config, "records-unreachable", admin=admin, read=read)

    def sources(self) -> Mapping[str, Pair]:
        return self._sandbox.sources()

    def bounds(self, topic: str) -> Mapping[int, tuple[int, int]]:
        return {place[1]: span for place, span in self._spans.bounds(topic).items()}

    def read(self, topic: str, partition: int, start: int, end: int) -> Sequence[TopicRecord]:
        begin, last = self.bounds(topic).get(partition, (0, 0))
        span = max(start, begin), min(end, last)
        if span[0] >= span[1]:
            return []
        found: list[TopicRecord] = []
        size = 0
        for message in self._spans.read(topic, {(topic, partition): span}):
            found.append(_record(topic, message))
            size += found[-1].size
            while size > _MOST_BYTES and len(found) > 1:
                size -= found.pop(0).size
        return found

    def run(self, before: Sequence[TopicRecord], record: TopicRecord, state: State) -> Trace:
        return self._sandbox.run(before, record, state)

    def traced(self, watch: RecordWatch) -> Traced:
        runner = self._leading()
        if runner is None:
            raise NotAvailableError(
                "partition-moving",
                "this instance does not process the application, so it cannot watch its records",
                fix="ask the instance that leads: see /instances",
            )
        found: list[Traced] = runner.answers(lambda slot: TakeTraces(slot, watch))
        return Traced(
            traces=[trace for each in found for trace in each.traces],
            missed=sum(each.missed for each in found),
        )


def _record(topic: str, message: Message) -> TopicRecord:
    return TopicRecord(
        topic=topic,
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=headers_of(message),
    )
