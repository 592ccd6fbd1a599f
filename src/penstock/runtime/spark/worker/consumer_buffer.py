"""Records that a consumer has returned, as columns; some of them may be for a later batch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import compress, count, islice
from operator import ne
from typing import Any

from confluent_kafka import Message

from penstock.kernel.raw_columns import RawColumns
from penstock.model.topic_partition import TopicPartition


class ReceivedColumns:
    """The received records of one partition in offset order; ``take`` removes the oldest."""

    __slots__ = ("_headers", "_keys", "_offsets", "_partition", "_timestamps", "_topic", "_values")

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._headers: list[Any] = []

    @property
    def last_offset(self) -> int:
        return self._offsets[-1] if self._offsets else -1

    @property
    def first_offset(self) -> int:
        return self._offsets[0] if self._offsets else -1

    def bytes_before(self, end: int) -> int:
        """Return the size in bytes of all values before the offset ``end``."""
        at = bisect_left(self._offsets, end)
        return sum(len(value) for value in self._values[:at] if value is not None)

    def add(self, messages: list[Message]) -> None:
        """Add messages of this partition.

        One pass over the messages per field is the fastest way to do this in Python.
        """
        self._offsets += map(Message.offset, messages)  # type: ignore[arg-type]
        self._timestamps += [time for _, time in map(Message.timestamp, messages)]
        self._keys += map(Message.key, messages)
        self._values += map(Message.value, messages)
        self._headers += map(Message.headers, messages)

    def take(self, end: int) -> RawColumns:
        """Remove and return the records before the offset ``end``."""
        at = bisect_left(self._offsets, end)
        headers = [tuple(each or ()) for each in self._headers[:at]] if any(self._headers) else None
        taken = RawColumns(
            self._topic, self._partition, self._offsets[:at], self._timestamps[:at],
            self._keys[:at], self._values[:at], headers,
        )  # fmt: skip
        for column in (
            self._offsets, self._timestamps, self._keys, self._values, self._headers,
        ):  # fmt: skip
            del column[:at]
        return taken


def runs_of(messages: list[Message]) -> Iterator[tuple[TopicPartition, list[Message]]]:
    """Cut messages where the partition changes.

    A consumer returns long runs of messages of one partition.
    """
    if not messages:
        return
    ends = _changes([*map(Message.partition, messages)])
    topics = [*map(Message.topic, messages)]
    if topics.count(topics[0]) < len(topics):
        ends |= _changes(topics)
    start = 0
    for end in sorted(ends | {len(messages)}):
        if start < end:
            yield _part(messages[start]), messages[start:end]
        start = end


def _changes(items: list[Any]) -> set[int]:
    """Return the index of every item that differs from the item before it."""
    following = map(ne, items, islice(items, 1, None))
    return {*compress(count(1), following)}


def _part(message: Message) -> TopicPartition:
    return message.topic() or "", message.partition() or 0
