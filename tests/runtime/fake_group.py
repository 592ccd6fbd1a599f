"""A consumer group whose broker is the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

LOG = [TopicPartition("app-batches", 0)]


class Group:
    """A consumer whose group does what a test says, in the thread that polls."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.events: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self.threads: set[str] = set()
        self.committed: list[tuple[str, int, int]] = []
        self.refusal: KafkaException | None = None
        self.paused: list[TopicPartition] = []
        self.generation = 0
        self.is_closed = False
        self.subscriptions = self.left = 0
        self.poll_s = 0.0

    def subscribe(self, topics: list[str], **on: Any) -> None:
        self._on = on
        self.subscriptions += 1

    def unsubscribe(self) -> None:
        self.left += 1

    def assign(self, parts: list[TopicPartition]) -> None:
        self.events.put(lambda: self._on["on_assign"](self, parts))

    def revoke(self, parts: list[TopicPartition]) -> None:
        self.events.put(lambda: self._on["on_revoke"](self, parts))

    def lose(self, parts: list[TopicPartition]) -> None:
        self.events.put(lambda: self._on["on_lost"](self, parts))

    def poll(self, timeout: float) -> Any:
        self.poll_s = timeout
        self.threads.add(threading.current_thread().name)
        try:
            return self.events.get(timeout=0.01)()
        except Empty:
            return None

    def fail(self, error: KafkaError) -> None:
        self.events.put(lambda: SimpleNamespace(error=lambda: error))

    def consumer_group_metadata(self) -> bytes:
        return b"generation %d" % self.generation

    def incremental_assign(self, parts: list[TopicPartition]) -> None:
        self.generation += 1

    def incremental_unassign(self, parts: list[TopicPartition]) -> None: ...

    def pause(self, parts: list[TopicPartition]) -> None:
        self.paused += parts

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> None:
        self.threads.add(threading.current_thread().name)
        if self.refusal is not None:
            raise self.refusal
        self.committed += [(each.topic, each.partition, each.offset) for each in offsets]

    def close(self) -> None:
        self.is_closed = True
