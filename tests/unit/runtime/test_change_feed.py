"""Changelog records of every kind of store become changes of that store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.model.windows.windowed import Window, Windowed
from penstock.runtime.spark.driver.observing.change_feed import ChangeDecoder, ChangeFeed
from penstock.serde.serdes import Serdes
from penstock.serde.windowed import SessionWindowedSerde
from penstock.serving.application import NotAvailableError, StoreChange, StoreInfo
from penstock.state.spec import StoreKind
from tests.unit.serving.memory_application import until


def info(kind: StoreKind) -> StoreInfo:
    return StoreInfo(
        name="store", kind=kind, key_serde=Serdes.string(), value_serde=Serdes.long(),
        partitions=2, window_size_ms=10, changelog="app-store-changelog",
    )  # fmt: skip


class Message:
    def __init__(self, key: bytes | None, value: bytes | None, offset: int = 5) -> None:
        self._key, self._value, self._offset = key, value, offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def offset(self) -> int:
        return self._offset

    def partition(self) -> int:
        return 1

    def timestamp(self) -> tuple[int, int]:
        return 1, 77

    def error(self) -> None:
        return None


def changed(kind: StoreKind, key: bytes | None, value: bytes | None) -> StoreChange | None:
    message: Any = Message(key, value)
    return ChangeDecoder.of(info(kind)).change(message)


def test_entries_and_deletions_of_a_key_value_store() -> None:
    seven = Serdes.long().encode(7)
    kind = StoreKind.TIMESTAMPED_KEY_VALUE
    assert changed(kind, b"ann", seven) == StoreChange(1, 5, "ann", 7, 77)
    assert changed(kind, b"ann", None) == StoreChange(1, 5, "ann", None, 77)
    assert changed(kind, None, seven) is None


def test_windows_have_their_bounds() -> None:
    key = b"ann" + (20).to_bytes(8, "big") + (0).to_bytes(4, "big")
    found = changed(StoreKind.WINDOW, key, Serdes.long().encode(7))
    assert found == StoreChange(1, 5, "ann", 7, 77, 20, 30)


def test_sessions_have_their_bounds() -> None:
    serde = SessionWindowedSerde(Serdes.string())
    key = serde.encode(Windowed("ann", Window(20, 45)))
    assert changed(StoreKind.SESSION, key, None) == StoreChange(1, 5, "ann", None, 77, 20, 45)


class FakeConsumer:
    """Partitions with the offsets 3 to 9, of which each poll gives one record."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.assigned: list[tuple[int, int]] = []
        self.is_closed = threading.Event()
        self.next = 0
        self.failure: Exception | None = None
        self.error: KafkaError | None = None

    def get_watermark_offsets(self, part: Any, timeout: float) -> tuple[int, int]:
        if self.failure is not None:
            raise self.failure
        return 3, 9

    def assign(self, parts: list[Any]) -> None:
        self.assigned = [(part.partition, part.offset) for part in parts]

    def consume(self, most: int, timeout: float) -> list[Message]:
        self.next += 1
        if self.error is not None:
            failed: Any = Message(None, None)
            failed.error = lambda: self.error
            return [failed]
        return [Message(b"ann", Serdes.long().encode(self.next), self.next)]

    def close(self) -> None:
        self.is_closed.set()


@pytest.mark.parametrize(
    ("since", "start"),
    [(None, {0: 9, 1: 9}), ({1: 5}, {0: 9, 1: 5}), ({0: 0, 1: 99}, {0: 3, 1: 9})],
)
def test_a_feed_begins_where_it_was_asked_to(
    since: dict[int, int] | None, start: dict[int, int]
) -> None:
    consumer: Any = FakeConsumer({})
    arrived: list[StoreChange] = []
    enough = threading.Event()

    def listen(changes: Sequence[StoreChange]) -> None:
        arrived.extend(changes)
        if len(arrived) >= 3:
            enough.set()

    feed = ChangeFeed({}, info(StoreKind.KEY_VALUE), since, listen, lambda settings: consumer)
    assert enough.wait(60)
    feed.close()
    count = len(arrived)
    assert feed.start == start
    assert dict(consumer.assigned) == start
    assert [change.value for change in arrived[:3]] == [1, 2, 3]
    assert consumer.is_closed.is_set()
    assert len(arrived) == count


def test_brokers_that_are_away_are_told_as_such() -> None:
    consumer: Any = FakeConsumer({})
    consumer.failure = KafkaException("down")
    with pytest.raises(NotAvailableError, match="cannot be read"):
        ChangeFeed({}, info(StoreKind.KEY_VALUE), None, print, lambda settings: consumer)
    assert consumer.is_closed.is_set()


def test_a_feed_that_may_not_read_any_more_says_why() -> None:
    """Its reader would wait for ever otherwise."""
    consumer: Any = FakeConsumer({})
    consumer.error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    told = threading.Event()
    feed = ChangeFeed(
        {}, info(StoreKind.KEY_VALUE), None, lambda changes: told.set(), lambda settings: consumer
    )
    assert told.wait(60)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(feed.failure)
    feed.close()
    assert consumer.is_closed.is_set()


def test_a_broker_that_is_away_does_not_end_a_feed() -> None:
    """The client connects again by itself."""
    consumer: Any = FakeConsumer({})
    consumer.error = KafkaError(KafkaError._TRANSPORT)
    told = threading.Event()
    feed = ChangeFeed(
        {}, info(StoreKind.KEY_VALUE), None, lambda changes: told.set(), lambda settings: consumer
    )
    until(lambda: consumer.next > 2)
    consumer.error = None
    assert told.wait(60)
    assert feed.failure is None
    feed.close()
