"""What can go wrong, and the documented outcome of each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PenstockError, StoreError, StreamsError, TopologyError

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def upper(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()

    def shout(value: str) -> str:
        if value == "bad":
            raise KeyError("amount")
        return value.upper()

    builder.stream(source).map_values(shout).to(sink)
    return builder.build()


def ended(streams: ps.KafkaStreams) -> StreamsError:
    assert streams.wait("120s")
    assert streams.state is ps.State.ERROR
    assert isinstance(streams.error, StreamsError)
    return streams.error


def test_a_raising_function_stops_the_client_and_names_line_and_record(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """Nothing of the batch is committed; the error says which line failed on which record."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", "fine"), ("b", "bad"))
    streams = streams_of(upper(source, sink))
    streams.start()
    error = ended(streams)
    assert error.code == "user-function"
    assert "KeyError('amount')" in error.message
    assert f"topic '{source}' partition 0 offset 1" in error.message
    assert "test_failures.py:" in str(error)
    assert committed(sink) == []


def test_a_raising_function_can_be_skipped_with_dead_letters(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """With the continue handler the record goes to the dead letter topic, once."""
    source, sink, dead = new_topic("in"), new_topic("out"), new_topic("dead")
    produce(source, ("a", "fine"), ("b", "bad"), ("c", "too"))
    config = {
        "processing_exception_handler": "continue",
        "errors_dead_letter_queue_topic_name": dead,
    }
    with streams_of(upper(source, sink), **config) as streams:
        assert streams.run_until_idle("120s")
    assert [value for _, value in committed(sink)] == [b"FINE", b"TOO"]
    assert committed(dead) == [(b"b", b"bad")]


def test_a_poison_record_stops_or_is_skipped(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records
) -> None:
    """The default is to stop; the continue handler skips what cannot be decoded."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", b"not a long"))
    builder = ps.StreamsBuilder()
    builder.stream(source, value_serde="long").map_values(lambda n: n + 1).to(sink)
    streams = streams_of(builder.build())
    streams.start()
    assert ended(streams).code == "deserialization"
    with streams_of(builder.build(), deserialization_exception_handler="continue") as again:
        assert again.run_until_idle("120s")
        assert committed(sink) == []


def test_replace_thread_tries_again_until_it_works(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """The batch runs again from the committed state; nothing is lost or doubled."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, *[(f"k{n}", "v") for n in range(20)])
    flag = tmp_path / "fixed"
    builder = ps.StreamsBuilder()

    def flaky(value: str) -> str:
        if not flag.exists():
            raise RuntimeError("not yet")
        return value

    builder.stream(source).map_values(flaky).to(sink)
    streams = streams_of(builder.build())

    def handler(error: Exception) -> ps.ExceptionResponse:
        flag.touch()
        return ps.ExceptionResponse.REPLACE_THREAD

    streams.set_uncaught_exception_handler(handler)
    streams.start()
    assert streams.run_until_idle("180s")
    assert len(committed(sink)) == 20


def test_a_missing_source_topic_is_refused_at_start(streams_of: Make, new_topic: Any) -> None:
    """The error names the topic, the line and the command that creates it."""
    streams = streams_of(upper("no-such-topic", new_topic("out")))
    with pytest.raises(TopologyError) as caught:
        streams.start()
    assert caught.value.code == "missing-source-topic"
    assert "test_failures.py:" in str(caught.value)
    assert streams.state is ps.State.ERROR


def test_topics_that_are_not_copartitioned_are_refused_at_start(
    streams_of: Make, new_topic: Any
) -> None:
    """Wrong results are worse than an error."""
    orders, users = new_topic("orders", partitions=4), new_topic("users", partitions=2)
    builder = ps.StreamsBuilder()
    builder.stream(orders).join(builder.table(users), lambda a, b: a + b).to(new_topic("out"))
    with pytest.raises(TopologyError) as caught:
        streams_of(builder.build()).start()
    assert caught.value.code == "co-partitioning"


def test_a_second_process_on_the_same_state_directory_is_refused(
    streams_of: Make, new_topic: Any, tmp_path: Path, application_id: str
) -> None:
    """The lock names the process that has it."""
    source, sink = new_topic("in"), new_topic("out")
    with streams_of(upper(source, sink)):
        program = (
            "from pathlib import Path\n"
            "from penstock.runtime.spark.state_lock import StateLock\n"
            f"StateLock(Path({str(tmp_path / 'state' / application_id)!r})).acquire()\n"
        )
        other = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
    assert other.returncode != 0
    assert "[state-locked]" in other.stderr
    assert issubclass(StoreError, PenstockError)


def test_a_topic_deleted_under_the_application_ends_it_with_its_name(
    streams_of: Make, new_topic: Any, produce: Write, kafka_admin: Any
) -> None:
    """It fails clearly instead of waiting for ever."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, ("a", "x"))
    streams = streams_of(upper(source, sink), task_timeout_ms=1_000)
    streams.start()
    assert streams.run_until_idle("120s")
    kafka_admin.delete_topics([source])
    deadline = time.monotonic() + 120
    while streams.state is ps.State.RUNNING and time.monotonic() < deadline:
        time.sleep(0.5)
    assert streams.wait("60s")
    assert source in str(streams.error)
