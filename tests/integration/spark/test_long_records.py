"""Records whose function takes long: they are named, and the application goes on when it can."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def topology(source: str, sink: str, function: Callable[[str], str]) -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream(source).map_values(function).to(sink)
    return builder.build()


def told(streams: ps.KafkaStreams, part: str, seconds: float = 60.0) -> str:
    """Wait until the application says that it waits for something with this text."""
    deadline = time.monotonic() + seconds
    while part not in (said := streams.waiting_for or ""):
        assert time.monotonic() < deadline, f"it said: {said!r}"
        time.sleep(0.1)
    return said


def test_a_function_that_does_not_return_is_named(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """An application that stands still says where, and goes on when the function returns."""
    source, sink, end = new_topic("in"), new_topic("out"), tmp_path / "end"

    class Waiting(ps.Processor[str, str, str, str]):
        def process(self, record: ps.Record[str, str]) -> None:
            while record.value == "wait" and not end.exists():
                time.sleep(0.05)
            self.context.forward(record)

    builder = ps.StreamsBuilder()
    builder.stream(source).process(Waiting).to(sink)
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("60s")
        produce(source, ("a", "fine"), ("b", "wait"), ("c", "fine"))
        said = told(streams, "inside a function")
        assert f"topic {source!r} partition 0 offset 1" in said
        assert "test_long_records.py:" in said
        end.touch()
        assert streams.run_until_idle("60s")
        assert streams.waiting_for is None
    assert [value for _, value in committed(sink)] == [b"fine", b"wait", b"fine"]


def keep_python(seconds: float) -> None:
    """Hold Python's lock, as a slow regular expression does: no other thread runs."""
    # Functions of a PyDLL are called with the lock. The machine may be busy, so this is no work.
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


def test_a_record_that_keeps_python_for_long_is_processed_once(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """Its process lets nobody else answer meanwhile, but it is not gone."""
    source, sink, calls = new_topic("in"), new_topic("out"), tmp_path / "calls"

    def slow(value: str) -> str:
        if value == "slow":
            with calls.open("a") as file:
                file.write("x")
            keep_python(35.0)
        return value

    with streams_of(topology(source, sink, slow)) as streams:
        assert streams.run_until_idle("60s")
        produce(source, ("a", "fine"), ("b", "slow"))
        assert source in told(streams, "does not answer")
        assert streams.run_until_idle("200s")
    assert [value for _, value in committed(sink)] == [b"fine", b"slow"]
    assert calls.read_text() == "x"
