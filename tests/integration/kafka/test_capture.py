"""``replay.capture``: a range of real records becomes a test that runs without Kafka."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.demo.program_demo import write_samples
from penstock.cli.main import app
from penstock.runtime.local.outbox import InputRecord

pytestmark = pytest.mark.kafka

PROGRAM = """
from penstock import StreamsBuilder

def build():
    builder = StreamsBuilder()
    builder.stream({topic!r}).group_by_key().count("counts").to_stream().to("out")
    return builder.build()
"""


@pytest.fixture
def topic(new_topic: Callable[..., str], kafka_broker: str, tmp_path: Path) -> str:
    """Six records, one per second from 1970 on, in two partitions, and a program that counts."""
    name = new_topic("captured", partitions=2)
    records = [InputRecord(name, f"k{n % 3}".encode(), b"x", n * 1_000) for n in range(1, 7)]
    write_samples(kafka_broker, records, ())
    (tmp_path / "app.py").write_text(PROGRAM.format(topic=name), encoding="utf-8")
    return name


def capture(topic: str, broker: str, folder: Path, *options: str) -> Result:
    arguments = ["capture", topic, "--app", str(folder / "app.py"), "-b", broker, *options]
    return CliRunner().invoke(app, arguments)


def test_captured_file_is_a_test_that_passes(topic: str, kafka_broker: str, tmp_path: Path) -> None:
    """pytest runs it in a process of its own, without the broker."""
    file = tmp_path / "test_captured.py"
    done = capture(topic, kafka_broker, tmp_path, "-o", str(file))
    assert done.exit_code == 0, done.output
    text = file.read_text(encoding="utf-8")
    assert "6 records of" in text
    assert text.count("('out', ") == 6
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-c", "/dev/null",
         "--rootdir", str(tmp_path), str(file)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


def test_range_leaves_out_what_lies_outside(topic: str, kafka_broker: str, tmp_path: Path) -> None:
    """From the third second, up to but without the fifth; records in order of their times."""
    file = tmp_path / "data.jsonl"
    times = ["--from", "1970-01-01T00:00:03Z", "--to", "1970-01-01T00:00:05Z"]
    done = capture(topic, kafka_broker, tmp_path, *times, "-o", str(file))
    assert done.exit_code == 0, done.output
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["time_ms"] for line in lines] == [3000, 4000]


def test_empty_and_long_ranges_are_refused(topic: str, kafka_broker: str, tmp_path: Path) -> None:
    """Nothing is written then."""
    empty = capture(topic, kafka_broker, tmp_path, "--from", "1s")
    assert empty.exit_code == 1
    assert "nothing-captured" in empty.output + str(empty.exception)
    long = capture(topic, kafka_broker, tmp_path, "--max-records", "5")
    assert long.exit_code == 1
    assert "too-many-records" in long.output + str(long.exception)
    assert not (tmp_path / "test_captured.py").exists()
