"""Topics, state and topologies that change between runs or under the application."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

import penstock as ps
from penstock.errors import TopologyError
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.application_run import ApplicationRun
from tests.integration.spark.application import counts
from tests.integration.spark.instances import exact, thread_process, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]

#: The driver looks for new partitions this often.
LOOKS = {"metadata_max_age_ms": 1_000}


def copies(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream(source).map_values(lambda value: value).to(sink)
    return builder.build()


def keyed_counts(source: str, sink: str) -> ps.Topology:
    """Count by key, without a repartition topic: every change is written."""
    builder = ps.StreamsBuilder()
    builder.stream(source).group_by_key().count("counts").to_stream().to(sink)
    return builder.build()


@pytest.fixture
def run(streams_of: Make) -> Callable[..., int]:
    """Runs a topology until nothing is left, closes it, and returns what was restored."""

    def until_idle(topology: ps.Topology, **config: Any) -> int:
        with streams_of(topology, statestore_cache_max_bytes=0, **config) as streams:
            assert streams.run_until_idle("300s")
            return streams.metrics().restored_records

    return until_idle


def counted(each: int, different: int = 10) -> dict[str, int]:
    return {f"w{number}": each for number in range(different)}


# Partitions


def test_partitions_added_while_running_are_read(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin
) -> None:
    """A stateless application begins anew with them by itself."""
    source, sink = new_topic("in", partitions=1), new_topic("out")
    with streams_of(copies(source, sink), **LOOKS) as streams:
        produce(source, *words(50))
        assert streams.run_until_idle("300s")
        kafka_admin.add_partitions(source, 3)
        produce(source, *[(key, f"{key} again") for key, _ in words(50)])
        wait_for(lambda: len(committed(sink)) >= 100, 180)
    expected = [value for _, value in words(50)] + [f"{key} again" for key, _ in words(50)]
    assert sorted(bytes(value).decode() for _, value in committed(sink)) == sorted(expected)


def test_partitions_added_between_runs_are_read(
    run: Any, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin
) -> None:
    """What is committed stays, and new partitions are read from their beginning."""
    source, sink = new_topic("in", partitions=1), new_topic("out")
    produce(source, *words(50))
    run(copies(source, sink))
    kafka_admin.add_partitions(source, 3)
    produce(source, *words(50))
    run(copies(source, sink))
    assert len(committed(sink)) == 100


def test_partitions_added_to_a_stateful_application_are_refused(
    run: Any, streams_of: Make, new_topic: Any, produce: Write, kafka_admin: Admin
) -> None:
    """Keys with state would be looked for in the wrong partition."""
    source, sink = new_topic("in", partitions=1), new_topic("out")
    produce(source, *words(50))
    run(keyed_counts(source, sink))
    kafka_admin.add_partitions(source, 3)
    with pytest.raises(TopologyError) as caught:
        streams_of(keyed_counts(source, sink)).start()
    assert caught.value.code == "partition-count-changed"


def test_partitions_added_under_a_stateful_application_end_it(
    streams_of: Make, new_topic: Any, kafka_admin: Admin
) -> None:
    """The same refusal as at the start, by the default handler."""
    source, sink = new_topic("in", partitions=1), new_topic("out")
    streams = streams_of(keyed_counts(source, sink), **LOOKS)
    streams.start()
    kafka_admin.add_partitions(source, 3)
    assert streams.wait("120s")
    assert isinstance(streams.error, TopologyError)
    assert streams.error.code == "partition-count-changed"


# Source topics


def test_deleted_topic_of_a_pattern_leaves_the_others(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin,
    application_id: str,
) -> None:  # fmt: skip
    """As in Kafka Streams, the application goes on; the topic is read again once it is back."""
    names = [new_topic(f"{application_id}-in") for _ in range(2)]
    sink = new_topic("out")
    builder = ps.StreamsBuilder()
    builder.stream(re.compile(f"{application_id}-in-.*")).to(sink)
    with streams_of(builder.build(), **LOOKS) as streams:
        for name in names:
            produce(name, ("a", f"first of {name}"))
        wait_for(lambda: len(committed(sink)) == 2, 60)
        kafka_admin.delete_topics([names[0]])
        produce(names[1], ("a", "second"))
        wait_for(lambda: len(committed(sink)) == 3, 60)
        kafka_admin.create_topic(names[0])
        produce(names[0], ("a", "anew"))
        wait_for(lambda: len(committed(sink)) == 4, 60)
        assert streams.error is None
    assert sorted(value for _, value in committed(sink))[0] == b"anew"


def test_topic_of_a_pattern_made_smaller_under_a_start_does_not_end_it(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin,
    application_id: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Its offsets in the log are of partitions that are gone when the start asks for them."""
    name, sink = new_topic(f"{application_id}-in", partitions=4), new_topic("out")
    builder = ps.StreamsBuilder()
    builder.stream(re.compile(f"{application_id}-in.*")).to(sink)
    produce(name, *((f"k{number}", "before") for number in range(20)))
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("60s")
    lead = ApplicationRun.lead

    def changed(run: ApplicationRun, prepared: Any, spark: Any) -> Any:
        monkeypatch.setattr(ApplicationRun, "lead", lead)
        kafka_admin.delete_topics([name])
        kafka_admin.create_topic(name, partitions=2)
        produce(name, ("a", "after"))
        return run.lead(prepared, spark)

    monkeypatch.setattr(ApplicationRun, "lead", changed)
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("60s")
    values = sorted(value for _, value in committed(sink))
    assert values == [b"after", *[b"before"] * 20]


def test_source_topic_made_anew_is_read_from_its_beginning(
    run: Any, topics: Any, produce: Write, committed: Records, kafka_admin: Admin,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Offsets of the deleted topic do not count, although the new one is longer."""
    source, sink = topics
    produce(source, *words(100))
    run(counts(source, sink))
    kafka_admin.delete_topics([source])
    kafka_admin.create_topic(source, partitions=4)
    produce(source, *words(300))
    run(counts(source, sink))
    assert f"source topic '{source}' was deleted and created again" in caplog.text
    assert exact(committed(sink)) == counted(40)


def test_records_deleted_between_runs_are_skipped_with_an_error_in_the_log(
    run: Any, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """It goes on with what is left, from its beginning."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, *words(50))
    run(counts(source, sink))
    produce(source, *words(100))
    kafka_admin.delete_records({(source, 0): 120})
    run(counts(source, sink))
    assert "records were deleted before they were processed" in caplog.text
    assert exact(committed(sink)) == counted(8)


def test_records_deleted_under_the_application_are_skipped(
    streams_of: Make, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A slot that has not read them yet begins anew; no handler is asked."""
    source, sink = new_topic("in"), new_topic("out")
    with streams_of(counts(source, sink), statestore_cache_max_bytes=0) as streams:
        produce(source, *words(50))
        assert streams.run_until_idle("300s")
        streams.pause()
        produce(source, *words(100))
        kafka_admin.delete_records({(source, 0): 120})
        # A slot that is alive has read them ahead, and processes them still.
        os.kill(thread_process(streams, 0), SIGKILL)
        streams.resume()
        wait_for(lambda: exact(committed(sink)) == counted(8), 180)
    assert "records were deleted before they were processed" in caplog.text


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_deleted_group_offsets_change_nothing(
    run: Any, topics: Any, produce: Write, committed: Records, kafka_admin: Admin,
    application_id: str, guarantee: str,
) -> None:  # fmt: skip
    """The offsets of an idle application expire; the markers of the last batch win."""
    produce(topics[0], *words(100))
    run(counts(*topics), processing_guarantee=guarantee)
    kafka_admin.delete_groups([application_id])
    produce(topics[0], *words(50))
    run(counts(*topics), processing_guarantee=guarantee)
    assert exact(committed(topics[1])) == counted(15)


def test_lost_tail_is_passed_over_and_nothing_is_read_again(
    run: Any, new_topic: Any, produce: Write, committed: Records, kafka_admin: Admin,
    application_id: str, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """An offset beyond the end continues at the end, with an error in the log."""
    source, sink = new_topic("in"), new_topic("out")
    produce(source, *words(100))
    run(counts(source, sink))
    # The same as a topic that has lost its last records: the offset is beyond its end.
    kafka_admin.alter_group_offsets(application_id, {(source, 0): 120})
    run(counts(source, sink))
    assert "it has lost its last records" in caplog.text
    produce(source, *words(50))
    run(counts(source, sink))
    assert exact(committed(sink)) == counted(15)


# Internal topics


@pytest.mark.parametrize("which", ["counts-changelog", "counts-repartition"])
def test_internal_topic_deleted_between_runs_is_refused(
    run: Any, streams_of: Make, topics: Any, produce: Write, kafka_admin: Admin,
    application_id: str, which: str,
) -> None:  # fmt: skip
    """What only it had is lost: going on would count from the beginning."""
    produce(topics[0], *words(100))
    run(counts(*topics))
    kafka_admin.delete_topics([f"{application_id}-{which}"])
    with pytest.raises(TopologyError) as caught:
        streams_of(counts(*topics)).start()
    assert caught.value.code == "internal-topic-lost"


def test_batch_log_deleted_between_runs_keeps_results_exact(
    run: Any, topics: Any, produce: Write, committed: Records, kafka_admin: Admin,
    application_id: str,
) -> None:  # fmt: skip
    """Committed offsets and changelogs are enough to go on."""
    source, sink = topics
    produce(source, *words(300))
    run(counts(source, sink))
    kafka_admin.delete_topics([f"{application_id}-penstock-batches"])
    produce(source, *words(100))
    run(counts(source, sink))
    assert exact(committed(sink)) == counted(40)


# State


def test_damaged_database_is_put_aside_and_restored(
    run: Any, topics: Any, produce: Write, committed: Records, tmp_path: Path
) -> None:
    """RocksDB notices by its checksums; the changelog has everything."""
    source, sink = topics
    records = words(5_000, different=5_000)
    produce(source, *records)
    run(counts(source, sink))
    largest = max(tmp_path.rglob("*.sst"), key=lambda file: file.stat().st_size)
    data = bytearray(largest.read_bytes())
    middle = len(data) // 2
    data[middle - 50 : middle + 50] = bytes(byte ^ 0xFF for byte in data[middle - 50 : middle + 50])
    largest.write_bytes(data)
    produce(source, *records)
    restored = run(counts(source, sink))
    assert exact(committed(sink)) == counted(2, different=5_000)
    assert restored > 0
    assert list(tmp_path.rglob("counts.damaged-*"))


# The topology


def test_subtopology_added_in_front_has_a_stream_time_of_its_own(
    run: Any, streams_of: Make, new_topic: Any, produce: Write
) -> None:
    """Tasks are numbered anew; a window that is open must not be closed by another's clock."""
    old, new = new_topic("old"), new_topic("new")

    def topology(*sources: str) -> ps.Topology:
        builder = ps.StreamsBuilder()
        minute = ps.TimeWindows.of_size_with_no_grace(timedelta(minutes=1))
        for name in sources:
            builder.stream(name).group_by_key().windowed_by(minute).count(f"{name}-counts")
        return builder.build()

    produce(old, ("a", "x", 100 * 60_000))
    run(topology(old))
    produce(new, ("a", "x", 1_000), ("a", "x", 2_000))
    produce(old, ("a", "x", 100 * 60_000 + 1))
    with streams_of(topology(new, old)) as streams:
        assert streams.run_until_idle("300s")
        assert streams.store(f"{new}-counts").fetch("a", 0) == 2
        assert streams.store(f"{old}-counts").fetch("a", 100 * 60_000) == 2
