"""Run an example's sample data through the test driver, and connect several drivers by topics."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from penstock import Topology
from penstock.cli.main import app
from penstock.runtime.local.outbox import InputRecord
from penstock.testing import TopologyTestDriver
from penstock.testing.sample_data import read_samples, sample_file
from penstock.topology.nodes import Source

EXAMPLES = Path(__file__).parents[2] / "examples"


def samples_of(name: str, topology: Topology) -> list[InputRecord]:
    file = sample_file(EXAMPLES / name / "app.py")
    assert file is not None, f"examples/{name} has no sample data"
    return read_samples(file, topology)


@contextmanager
def played(
    name: str, topology: Topology, config: dict[str, Any] | None = None, **options: Any
) -> Iterator[TopologyTestDriver]:
    """Yields a driver that has processed the whole sample, in the order of the file."""
    with TopologyTestDriver(topology, config, **options) as driver:
        for sample in samples_of(name, topology):
            driver.pipe_bytes(*sample)
        yield driver


def sources(topology: Topology) -> set[str]:
    nodes = topology.graph.nodes.values()
    return {topic for node in nodes if isinstance(node, Source) for topic in node.topics}


def collaborate(
    services: Sequence[tuple[Topology, TopologyTestDriver]], inputs: Sequence[InputRecord]
) -> list[InputRecord]:
    """Hands each record to the services that read its topic, until none of them has more to say.

    Topics are all that the services share. Returns every record that was written.
    """
    waiting, written = list(inputs), []
    seen = [0] * len(services)
    while waiting:
        record = waiting.pop(0)
        written.append(record)
        for number, (topology, driver) in enumerate(services):
            if record.topic in sources(topology):
                driver.pipe_bytes(*record)
            sent = driver.outputs()[seen[number] :]
            seen[number] += len(sent)
            waiting += [
                InputRecord(*each[:4]) for each in sent if not driver.is_internal_topic(each.topic)
            ]
    return written


def assert_sql_test_passes(name: str) -> None:
    """Run an example's script over its data, as ``penstock sql test`` does."""
    folder = EXAMPLES / name
    arguments = [
        "sql", "test", folder / "app.sql",
        "--input", folder / "data.json", "--output", folder / "expected.json",
    ]  # fmt: skip
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    assert "1 of 1 tests pass" in done.output
