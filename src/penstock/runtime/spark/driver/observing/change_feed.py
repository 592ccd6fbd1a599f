"""A change feed: reads a store's changelog, committed records only, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer
from penstock.kafka.error_table import Verdict, verdict
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.serving.application import ChangeListener, NotAvailableError, StoreChange, StoreInfo
from penstock.state.spec import StoreKind

log = logging.getLogger(__name__)

_ANSWER_S = 10.0
_POLL_S = 0.2
_MOST_AT_ONCE = 1_000
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)


def changelog_key_serde(info: StoreInfo) -> Serde[Any]:
    """Return the serde of the keys of a store's changelog records."""
    if info.kind in _WINDOW:
        return TimeWindowedSerde(info.key_serde, info.window_size_ms or 0, is_changelog=True)
    if info.kind is StoreKind.SESSION:
        return SessionWindowedSerde(info.key_serde)
    return info.key_serde


@dataclass(frozen=True, slots=True)
class ChangeDecoder:
    """Turns records of a changelog into changes."""

    info: StoreInfo
    keys: Serde[Any]

    @staticmethod
    def of(info: StoreInfo) -> ChangeDecoder:
        return ChangeDecoder(info, changelog_key_serde(info))

    def change(self, message: Message) -> StoreChange | None:
        """Return the change that a record stands for; None for a record without a key."""
        raw_key, raw_value, topic = message.key(), message.value(), self.info.changelog
        if raw_key is None:
            return None
        key: Any = self.keys.deserialize(topic, _bytes(raw_key))
        value = None
        if raw_value is not None:
            value = self.info.value_serde.deserialize(topic, _bytes(raw_value))
        start = end = None
        if isinstance(key, Windowed) and self.keys is not self.info.key_serde:
            start, end, key = key.start, key.end, key.key
        partition, offset = message.partition() or 0, message.offset() or 0
        return StoreChange(partition, offset, key, value, message.timestamp()[1], start, end)


class ChangeFeed:
    """Reads from given offsets, or from the end, until it is closed."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        info: StoreInfo,
        since: Mapping[int, int] | None,
        listener: ChangeListener,
        consumer: Callable[[Mapping[str, Any]], Consumer] = new_consumer,
    ) -> None:
        self._decoder = ChangeDecoder.of(info)
        self._listener = listener
        self._closing = threading.Event()
        self._failure: str | None = None
        self._consumer = consumer({**settings, "isolation.level": "read_committed"})
        try:
            self._start = self._offsets(info, since or {})
        except (KafkaException, StreamsError) as error:
            self._consumer.close()
            raise NotAvailableError(
                "store-not-ready",
                f"the changelog of store {info.name!r} cannot be read: {error}",
                fix="ask again when the brokers answer",
            ) from error
        self._consumer.assign(
            [TopicPartition(info.changelog, part, at) for part, at in self._start.items()]
        )
        self._thread = threading.Thread(target=self._run, name="penstock-feed", daemon=True)
        self._thread.start()

    @property
    def start(self) -> Mapping[int, int]:
        return self._start

    @property
    def failure(self) -> str | None:
        return self._failure

    def close(self) -> None:
        self._closing.set()
        self._thread.join(_ANSWER_S)

    def _offsets(self, info: StoreInfo, since: Mapping[int, int]) -> dict[int, int]:
        found = {}
        for partition in range(info.partitions):
            part = TopicPartition(info.changelog, partition)
            low, high = self._consumer.get_watermark_offsets(part, _ANSWER_S)
            # Records that were compacted meanwhile cannot be sent any more.
            found[partition] = max(min(since.get(partition, high), high), low)
        return found

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                messages = self._consumer.consume(_MOST_AT_ONCE, _POLL_S)
                read = map(self._decoder.change, _records(messages))
                changes = [change for change in read if change is not None]
                if changes and not self._closing.is_set():
                    self._listener(changes)
        except Exception as error:
            log.exception("a change feed of %s ended", self._decoder.info.changelog)
            self._failure = f"the changelog cannot be read any more: {error}"
            self._listener(())
        finally:
            self._consumer.close()


def _records(messages: list[Message]) -> Iterator[Message]:
    """Return the records among messages; raise an error that waiting does not cure."""
    for message in messages:
        error = message.error()
        if error is None:
            yield message
        elif verdict(error) not in (Verdict.IGNORE, Verdict.WAIT):
            raise KafkaException(error)


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
