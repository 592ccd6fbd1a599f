"""``penstock run`` and ``penstock demo`` as a user calls them: processes of their own.

Exercises ``private_broker``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROOT = Path(__file__).parents[3]
FAILING = """
from penstock import StreamsBuilder
builder = StreamsBuilder()
builder.stream("in").map_values(lambda value: {}["amount"]).to("out")
def prepare(servers):
    from confluent_kafka import Producer
    from penstock.kafka.admin import Admin
    Admin({"bootstrap.servers": servers}).create_topic("in")
    producer = Producer({"bootstrap.servers": servers})
    producer.produce("in", "x")
    producer.flush()
"""


@pytest.fixture
def mark(needs_java: None) -> Iterator[str]:
    """A mark in the environment of all processes of a test; none of them may be left behind."""
    text = f"penstock-test-{uuid.uuid4().hex}"
    yield text
    deadline = time.monotonic() + 30
    while left := marked(text):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def marked(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:
            continue
    return found


def command(mark: str, *arguments: str) -> dict[str, Any]:
    return {
        "args": [str(Path(sys.executable).with_name("penstock")), *arguments],
        "env": os.environ | {"PENSTOCK_TEST_MARK": mark},
        "cwd": ROOT,
        "text": True,
    }


@pytest.mark.slow
def test_run_processes_a_sample_and_stops(mark: str) -> None:
    """Without a broker a private one is used; lines of JSON for whoever is no terminal."""
    done = subprocess.run(
        **command(mark, "run", "examples/word_count/app.py", "--demo", "--json"),
        capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    looks = [line for line in lines if "state" in line]
    counts = {line["key"]: line["value"] for line in lines if "topic" in line}
    assert counts["water"] == 11
    states = [look["state"] for look in looks]
    # The first look may come after the start has begun.
    assert states[0] in ("CREATED", "REBALANCING")
    assert states[-1] == "NOT_RUNNING"
    assert looks[-1]["records"] == 20
    assert "WARN" not in done.stderr


@pytest.mark.slow
def test_demonstration_of_a_script_shows_its_rows(mark: str) -> None:
    """``penstock run`` takes scripts of SQL, too; the sample data is beside them."""
    done = subprocess.run(
        **command(mark, "run", "examples/user_counts_sql/app.sql", "--demo", "--json"),
        capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [line["row"] for line in lines if "row" in line]
    # On Spark a push query may begin when the table is already filled: the last row is certain.
    assert rows[-1] == {"USER_ID": "alice", "VIEWS": 3}


@pytest.mark.slow
def test_run_stops_cleanly_on_sigterm(mark: str) -> None:
    """A supervisor stops it without losing anything."""
    with subprocess.Popen(
        **command(mark, "run", "examples/word_count/app.py"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert any("RUNNING" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "NOT_RUNNING" in output
    assert "✓ stopped cleanly" in errors


@pytest.mark.slow
def test_failing_program_ends_with_the_library_s_text(mark: str, tmp_path: Path) -> None:
    """The user's line and the record, and no traceback."""
    (tmp_path / "app.py").write_text(FAILING)
    done = subprocess.run(
        **command(mark, "run", str(tmp_path / "app.py")),
        capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "[user-function]" in done.stderr
    assert "app.py:4" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_demo_counts_and_leaves_nothing_behind(mark: str) -> None:
    """The result equals plain Python's, or the demo itself fails."""
    done = subprocess.run(
        **command(mark, "demo", "--seconds", "1"), capture_output=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "215  water" in done.stdout
    assert "plain Python counts the same" in done.stderr
    assert "WARN" not in done.stderr + done.stdout


@pytest.mark.slow
def test_sql_run_prints_rows_and_ends_when_idle(mark: str, tmp_path: Path) -> None:
    """INSERT VALUES through a query into a SELECT, with a private broker."""
    script = tmp_path / "a.sql"
    script.write_text(SQL)
    done = subprocess.run(
        **command(mark, "sql", "run", str(script), "--for-idle", "--json"),
        capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    looks = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [look["row"] for look in looks if "row" in look]
    assert {"PAGE": "/home", "N": 2} in rows
    assert {"PEOPLE": 2} in rows
    assert "Traceback" not in done.stderr


SQL = """
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
INSERT INTO clicks VALUES ('ann', '/home');
INSERT INTO clicks VALUES ('bob', '/home');
SELECT * FROM views EMIT CHANGES;
SELECT COUNT(*) AS people FROM clicks;
"""
