"""The writer of a slot: what is left of one that is given up."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.runtime.spark.worker import writer as writer_module
from penstock.runtime.spark.worker.writer import KafkaWriter

#: Nothing listens there.
NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture
def _no_collector() -> Iterator[None]:
    """Switch the garbage collector off, as it is while a slot works."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("records", [0, 100])
@pytest.mark.usefixtures("_no_collector")
def test_a_writer_that_is_given_up_leaves_nothing_behind(records: int) -> None:
    """Each one has threads, connections and a queue; every attempt of a batch makes a new one."""
    writer = KafkaWriter(NOWHERE, None)
    writer.send_all("out", [b"k"] * records, [b"v"] * records, [1] * records)
    if records:
        writer.send("out", b"k", b"v", 1, (), None)
    writer._noticed_loss.set()
    assert not writer.is_usable
    writer.abort()
    left = weakref.ref(writer)
    del writer
    assert left() is None


class Transactions:
    """A producer that only counts what happens to transactions."""

    def __init__(self, *given: object) -> None:
        self.aborted = 0

    def init_transactions(self, timeout_s: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def abort_transaction(self, timeout_s: float) -> None:
        self.aborted += 1


def test_a_writer_aborts_only_what_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that cannot open its stores has no transaction: an abort would warn of nothing."""
    producer = Transactions()
    monkeypatch.setattr(writer_module, "new_producer", lambda settings: producer)
    writer = KafkaWriter(NOWHERE, "app-0")
    writer.abort()
    assert producer.aborted == 0
    writer.begin()
    writer.abort()
    assert producer.aborted == 1
