"""The writer of a slot: what is left of one that is given up."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

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
