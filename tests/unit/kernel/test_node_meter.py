"""A node's time is its own, and a sample stands for what was not measured."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.failures import Guard
from penstock.kernel.observing.node_meter import NodeMeter


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Chain:
    """Two nodes; the first one takes 5 and calls the second one, which takes 2."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.seen = clock, 0
        #: Chunks so far, those that were measured, and the number of the last of these.
        self.chunks = self.measured = self.measured_at = 0
        self.first = Guard(None, lambda *_: None)  # type: ignore[arg-type]
        self.second = Guard(None, lambda *_: None)  # type: ignore[arg-type]
        executors: Any = {"a": self, "b": Last(self)}
        self.meter = NodeMeter(clock)
        self.meter.attach({"a": self.first, "b": self.second}, executors)
        self.first.bind(self.process)
        self.second.bind(executors["b"].process)

    def process(self, *record: Any) -> None:
        self.clock.now += 5
        self.second.enter(*record)

    def run(self, chunks: int, records: int) -> None:
        """Process some chunks of records, as a task does."""
        for _ in range(chunks):
            heads = range(records)
            self.chunks += 1
            if self.meter.is_due():
                self.measured, self.measured_at = self.measured + 1, self.chunks
                with self.meter.chunk("source") as counted:
                    self._process(counted(heads))
            else:
                self._process(heads)
        self.meter.end_batch({"source": chunks * records})

    def _process(self, heads: Any) -> None:
        for _ in heads:
            self.clock.now += 1
            self.first.enter(None, None, 0, ())


class Last:
    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def process(self, *record: Any) -> None:
        self.chain.clock.now += 2
        self.chain.seen += 1


def test_a_sample_stands_for_all_records() -> None:
    """One chunk is measured, and it is too early for another one: it counts for all of them."""
    chain = Chain(Clock())
    chain.run(64, 10)
    assert chain.seen == 640
    assert chain.measured == 1
    assert chain.meter.records == {"source": 640, "a": 640.0, "b": 640.0}
    assert chain.meter.busy_ns == {"source": 640.0, "a": 640.0 * 5, "b": 640.0 * 2}


def test_slow_records_are_all_measured() -> None:
    """Measuring may take a small part of the time, and one record in a millisecond takes less."""
    chain = Chain(Clock())
    for _ in range(30):
        chain.run(1, 1)
        chain.clock.now += 1_000_000
    assert chain.measured == 30
    assert chain.meter.records == {"source": 30, "a": 30.0, "b": 30.0}


def test_batches_that_were_not_measured_count_with_the_next_one_that_is() -> None:
    """As soon as there is time for it."""
    chain = Chain(Clock())
    for _ in range(40):
        chain.run(1, 3)
    assert (chain.measured, chain.meter.records["a"]) == (1, 3.0)
    chain.clock.now += 10_000_000
    for _ in range(17):
        chain.run(1, 3)
    assert chain.measured == 2
    assert chain.meter.records["a"] == pytest.approx(3 * chain.measured_at)


def test_what_a_flush_sends_is_counted() -> None:
    """Results that wait in a cache reach the nodes behind it at a commit."""
    chain = Chain(Clock())
    for number in range(9):
        if number == 8:
            chain.clock.now += 10_000_000
        with chain.meter.flush():
            chain.first.enter(None, None, 0, ())
    assert chain.meter.records["a"] == 9


def test_a_batch_over_columns_that_is_given_up_does_not_count() -> None:
    """It runs again record by record."""
    clock = Clock()
    meter = NodeMeter(clock)
    for is_kept in (False, True):
        meter.begin_columns()
        before = meter.enter("a", 100)
        clock.now += 7
        meter.leave(before)
        meter.end_columns(is_kept=is_kept)
    meter.end_batch({"source": 100})
    assert meter.records == {"source": 100, "a": 100.0}
    assert meter.busy_ns == {"a": 7.0}


def test_a_node_that_raises_leaves_nothing_behind() -> None:
    """The next records are measured as before."""
    chain = Chain(Clock())

    def fail(*record: Any) -> None:
        raise ValueError("x")

    chain.process = fail  # type: ignore[method-assign]
    handled: list[Any] = []
    chain.first = Guard(None, lambda *error: handled.append(error))  # type: ignore[arg-type]
    executors: Any = {"a": chain}
    chain.meter.attach({"a": chain.first}, executors)
    chain.first.bind(fail)
    chain.run(1, 4)
    assert len(handled) == 4
    assert chain.meter.node is None
    assert chain.meter.records["a"] == 4.0
