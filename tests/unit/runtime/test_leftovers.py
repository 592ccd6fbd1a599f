"""Records that are left in repartition topics are found, also behind transaction markers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.changes import leftovers as module
from penstock.runtime.spark.driver.changes.leftovers import topics_with_leftovers


class Reader:
    """A consumer over records by partition; behind them each partition has its end."""

    def __init__(self, records: dict[tuple[str, int], list[int]]) -> None:
        self._records = records
        self._waiting: list[Any] = []
        self.is_closed = False

    def __call__(self, settings: dict[str, Any]) -> Reader:
        assert settings["isolation.level"] == "read_committed"
        return self

    def assign(self, parts: list[Any]) -> None:
        for part in parts:
            offsets = self._records.get((part.topic, part.partition), [])
            found = [offset for offset in offsets if offset >= part.offset]
            self._waiting += [self._message(part, None) for _ in found]
            self._waiting.append(self._message(part, KafkaError(KafkaError._PARTITION_EOF)))

    def _message(self, part: Any, error: KafkaError | None) -> Any:
        return SimpleNamespace(
            topic=lambda: part.topic, partition=lambda: part.partition, error=lambda: error
        )

    def poll(self, timeout_s: float) -> Any:
        return self._waiting.pop(0) if self._waiting else None

    def close(self) -> None:
        self.is_closed = True


def test_topic_with_a_record_behind_its_position_has_leftovers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A record before the position has been processed."""
    reader = Reader({("a", 0): [1, 2], ("a", 1): [7], ("b", 0): [4]})
    monkeypatch.setattr(module, "new_consumer", reader)
    positions = {("a", 0): 3, ("a", 1): 5, ("b", 0): 5, ("c", 0): 0}
    assert topics_with_leftovers(positions, {}) == ["a"]
    assert reader.is_closed


def test_without_positions_nothing_is_asked() -> None:
    """A plan that changed no repartition topic costs no question."""
    assert topics_with_leftovers({}, {}) == []


def test_broker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for an empty topic."""
    reader = Reader({})
    monkeypatch.setattr(reader, "assign", lambda parts: None)
    monkeypatch.setattr(module, "new_consumer", reader)
    monkeypatch.setattr(module, "_ANSWER_S", 0.0)
    with pytest.raises(StreamsError, match="cannot be read"):
        topics_with_leftovers({("a", 0): 0}, {})
