"""A stretch of a changelog is read, and whether anything can be missing from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.runtime.spark.driver.observing.changelog_reader import ChangelogReader
from penstock.serde.serdes import Serdes
from penstock.serving.application import NotAvailableError
from penstock.serving.past.values import Changes
from penstock.state.spec import StoreKind
from tests.unit.runtime.test_change_feed import Message, info

INFO = info(StoreKind.TIMESTAMPED_KEY_VALUE)


class Log:
    """A partition with records at some offsets; a reader that is past the last one is told so."""

    def __init__(self, *offsets: int, begins: int = 0, broken: bool = False) -> None:
        self.offsets, self.begins, self.broken = offsets, begins, broken
        self.at = 0
        self.made = self.closed = 0

    def __call__(self, settings: Mapping[str, Any]) -> Any:
        assert settings["isolation.level"] == "read_committed"
        self.made += 1
        return self

    def get_watermark_offsets(self, part: Any, timeout: float) -> tuple[int, int]:
        if self.broken:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return self.begins, max(self.offsets, default=0) + 1

    def assign(self, parts: list[Any]) -> None:
        self.at = parts[0].offset

    def unassign(self) -> None:
        self.at = -1

    def consume(self, most: int, timeout: float) -> list[Any]:
        value = Serdes.long().encode(1)
        found: list[Any] = [Message(b"k", value, at) for at in self.offsets if at >= self.at][:2]
        if not found:
            end: Any = Message(None, None)
            end.error = lambda: KafkaError(KafkaError._PARTITION_EOF)
            return [end]
        self.at = found[-1].offset() + 1
        return found

    def close(self) -> None:
        self.closed += 1


def read(log: Log, start: int, end: int) -> Changes:
    return ChangelogReader({}, log).read(INFO, 1, start, end)


def test_only_the_stretch_is_read() -> None:
    """From the first offset, up to the one before the last."""
    found = read(Log(*range(10)), 2, 7)
    assert [change.offset for change in found.changes] == [2, 3, 4, 5, 6]
    assert found.is_whole


def test_marks_of_transactions_are_no_gap() -> None:
    """Each commit ends in a record that no reader gets; two in a row would be a gap."""
    assert read(Log(0, 1, 3, 4, 6), 0, 8).is_whole
    assert not read(Log(0, 3, 4), 0, 5).is_whole
    assert not read(Log(0, 1), 0, 5).is_whole


def test_a_stretch_whose_beginning_is_gone_says_where_the_log_begins() -> None:
    """Retention has taken the rest."""
    found = read(Log(6, 7, 8, begins=6), 0, 9)
    assert (found.begins, [change.offset for change in found.changes]) == (6, [6, 7, 8])
    assert read(Log(6, begins=6), 0, 5).changes == []


def test_one_connection_is_kept_until_the_end() -> None:
    """A page asks several times in a row."""
    log = Log(0, 1, 2)
    reader = ChangelogReader({}, log)
    reader.read(INFO, 1, 0, 2)
    reader.read(INFO, 1, 1, 3)
    reader.close()
    reader.close()
    assert (log.made, log.closed) == (1, 1)


def test_a_broker_that_does_not_answer_can_be_asked_later() -> None:
    """Not an error of the server's."""
    with pytest.raises(NotAvailableError, match="cannot be read"):
        read(Log(broken=True), 0, 3)
