"""Failures while global stores are updated: which handler decides, and what the error says.

Exercises ``kernel.failures``.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock import Consumed, Processor, Record, Stores, StreamsBuilder, Topology
from penstock.errors import StreamsError
from penstock.processor.handlers import CONTINUE, FAIL, ErrorHandlerContext
from penstock.testing import TopologyTestDriver

ENABLED = {"processing.exception.handler.global.enabled": True}


class Keep(Processor[str, str, None, None]):
    """Keeps values in the global store, and fails on one of them."""

    def process(self, record: Record[str, str]) -> None:
        if record.value == "bad":
            raise ValueError("cannot keep bad")
        self.context.get_state_store("names").put(record.key, record.value)


def topology() -> Topology:
    builder = StreamsBuilder()
    supplier = Stores.in_memory_key_value_store("names")
    store = Stores.key_value_store_builder(supplier, "string", "string")
    builder.add_global_store(store, "names-topic", Consumed.with_("string", "string"), Keep)
    return builder.build()


def pipe(config: dict[str, Any]) -> dict[str, str]:
    with TopologyTestDriver(topology(), config) as driver:
        driver.pipe("names-topic", ("a", "1"), ("a", "bad"), ("b", "2"))
        return dict(driver.get_key_value_store("names").all())


def test_handler_is_asked_when_enabled_and_its_decision_is_obeyed() -> None:
    """CONTINUE skips the record; the context says where it came from."""
    asked: list[tuple[ErrorHandlerContext, Any, Exception]] = []

    def handler(context: ErrorHandlerContext, record: Any, error: Exception) -> Any:
        asked.append((context, record, error))
        return CONTINUE

    assert pipe({**ENABLED, "processing.exception.handler": handler}) == {"a": "1", "b": "2"}
    ((context, record, error),) = asked
    assert (context.topic, context.partition, context.offset) == ("names-topic", 0, 1)
    assert (context.source_raw_key, context.source_raw_value) == (b"a", b"bad")
    assert record.value == "bad"
    assert repr(error) == "ValueError('cannot keep bad')"


def test_handler_may_fail() -> None:
    """FAIL ends the application, as without a handler."""
    with pytest.raises(StreamsError, match="cannot keep bad"):
        pipe({**ENABLED, "processing.exception.handler": lambda *_: FAIL})


def test_handler_is_not_asked_unless_enabled(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka Streams' default; a log line says so where a handler is configured."""
    with caplog.at_level(logging.WARNING), pytest.raises(StreamsError) as raised:
        pipe({"processing.exception.handler": "continue"})
    assert "processing.exception.handler.global.enabled to true" in str(raised.value)
    assert "is not asked for global stores" in caplog.text


def test_default_handler_gives_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to choose then."""
    with caplog.at_level(logging.WARNING), pytest.raises(StreamsError):
        pipe({})
    assert "is not asked" not in caplog.text


def test_dead_letter_of_a_global_store_is_written() -> None:
    """The record, as it was read, goes to the dead letter topic."""
    config = {
        **ENABLED,
        "processing.exception.handler": "continue",
        "errors.dead.letter.queue.topic.name": "dead",
    }
    with TopologyTestDriver(topology(), config) as driver:
        driver.pipe("names-topic", ("a", "bad"), ("b", "2"))
        letters = [(letter.key, letter.value) for letter in driver.take_all("dead")]
    assert letters == [(b"a", b"bad")]
