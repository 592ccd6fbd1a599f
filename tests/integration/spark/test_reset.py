"""``penstock reset``: afterwards an application starts over, from where it was told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock import KafkaStreams, StreamsBuilder, Topology
from penstock.cli.main import app
from penstock.kafka.admin import Admin

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Make = Callable[..., KafkaStreams]


def word_count(source: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source).group_by(lambda _, word: word).count("words").to_stream().to(sink)
    return builder.build()


@pytest.fixture
def reset(kafka_broker: str, tmp_path: Path, application_id: str) -> Callable[..., Result]:
    def call(*options: str, application: str = application_id) -> Result:
        place = ["--bootstrap-server", kafka_broker, "--state-dir", str(tmp_path / "state")]
        return CliRunner().invoke(app, ["reset", "--application-id", application, *place, *options])

    return call


@pytest.fixture
def counted(
    streams_of: Make, new_topic: Callable[..., str], produce: Callable[..., None]
) -> tuple[Topology, str]:
    """An application that has counted three words, and was closed."""
    source, sink = new_topic("words", partitions=2), new_topic("counts", partitions=2)
    produce(source, ("1", "water"), ("2", "wheel"), ("3", "water"))
    topology = word_count(source, sink)
    assert counts_of(streams_of(topology)) == {"water": 2, "wheel": 1}
    return topology, source


def counts_of(streams: KafkaStreams) -> dict[str, int]:
    with streams:
        assert streams.run_until_idle("300s")
        return dict(streams.store("words").all())


def test_dry_run_says_what_would_happen_and_changes_nothing(
    counted: tuple[Topology, str],
    reset: Callable[..., Result],
    kafka_admin: Admin,
    application_id: str,
    tmp_path: Path,
) -> None:
    """Offsets, topics and state are all there afterwards."""
    _, source = counted
    before = kafka_admin.group_offsets(application_id)
    result = reset("--dry-run")
    assert result.exit_code == 0, result.output
    own = {f"{application_id}-words-changelog", f"{application_id}-penstock-batches"}
    for name in own:
        assert f"topic {name} would be deleted" in result.stdout
    assert f"state {tmp_path / 'state' / application_id} would be deleted" in result.stdout
    assert source in result.stdout
    assert kafka_admin.group_offsets(application_id) == before
    assert own <= kafka_admin.topics().keys()
    assert (tmp_path / "state" / application_id).exists()


def test_application_counts_again_from_the_beginning(
    counted: tuple[Topology, str],
    reset: Callable[..., Result],
    streams_of: Make,
    kafka_admin: Admin,
    application_id: str,
    tmp_path: Path,
) -> None:
    """Its state is empty, so the counts are those of the first time and not twice as much."""
    topology, _ = counted
    result = reset()
    assert result.exit_code == 0, result.output
    assert f"✓ {application_id} is reset" in result.stderr
    assert not [name for name in kafka_admin.topics() if name.startswith(f"{application_id}-")]
    assert not (tmp_path / "state" / application_id).exists()
    assert counts_of(streams_of(topology)) == {"water": 2, "wheel": 1}


def test_application_counts_only_what_comes_after_the_latest(
    counted: tuple[Topology, str],
    reset: Callable[..., Result],
    streams_of: Make,
    produce: Callable[..., None],
) -> None:
    """What was there before is not read again."""
    topology, source = counted
    result = reset("--to-latest", "--input-topics", source, "--json")
    assert result.exit_code == 0, result.output
    assert sum(move["to"] for move in json.loads(result.stdout)["offsets"]) == 3
    produce(source, ("4", "water"))
    assert counts_of(streams_of(topology)) == {"water": 1}


def test_running_application_is_refused(
    counted: tuple[Topology, str], reset: Callable[..., Result], streams_of: Make
) -> None:
    """Its state would be pulled from under it."""
    with streams_of(counted[0]):
        result = reset()
    assert result.exit_code == 1
    assert "[application-running]" in result.stderr


def test_unknown_application_is_a_typing_error(
    counted: tuple[Topology, str], reset: Callable[..., Result], application_id: str
) -> None:
    """With the nearest name there is."""
    result = reset(application=f"{application_id}x")
    assert result.exit_code == 1
    assert "[unknown-application]" in result.stderr
    assert f"did you mean {application_id!r}" in result.stderr
