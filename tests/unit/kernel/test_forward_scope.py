"""When a processor may forward: while its task runs, and on the thread of its task."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Processor, Record, StreamsBuilder
from penstock.errors import StreamsError
from penstock.testing import TopologyTestDriver


class _Leaking(Processor[str, str, str, str]):
    """Lets others have its context."""

    leaked: Any = None

    def init(self, context: Any) -> None:
        type(self).leaked = context

    def process(self, record: Record[str, str]) -> None:
        """Does nothing."""


def _driver(processor: type[Processor[Any, Any, Any, Any]]) -> TopologyTestDriver:
    builder = StreamsBuilder()
    builder.stream("in").process(processor).to("out")
    return TopologyTestDriver(builder.build())


def test_a_record_that_is_forwarded_between_batches_is_refused() -> None:
    """No batch would commit it: it would be lost without a word."""
    with _driver(_Leaking) as driver:
        driver.pipe("in", "x")
        with pytest.raises(StreamsError) as caught:
            _Leaking.leaked.forward(Record("a", "x", 0))
        assert caught.value.code == "forward-out-of-scope"
        assert "while no record is processed" in caught.value.message
        assert str(caught.value.at).startswith("test_forward_scope.py:")


class _Threaded(Processor[str, str, str, str]):
    """Forwards from a thread of its own."""

    def process(self, record: Record[str, str]) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self.context.forward, record).result()


def test_a_record_that_another_thread_forwards_is_refused() -> None:
    """The nodes behind it would process two records at the same time."""
    with _driver(_Threaded) as driver, pytest.raises(StreamsError, match="another thread"):
        driver.pipe("in", "x")


class _Early(Processor[str, str, str, str]):
    """Forwards as soon as it has a context, and after the last record."""

    def init(self, context: Any) -> None:
        self.own = context
        context.forward(Record("a", "first", 0))

    def process(self, record: Record[str, str]) -> None:
        """Does nothing."""

    def close(self) -> None:
        self.own.forward(Record("a", "last", 0))


def test_init_and_close_may_forward() -> None:
    """Kafka Streams lets them, too."""
    with _driver(_Early) as driver:
        driver.pipe("in", "x")
        assert driver.read_values("out") == ["first"]
