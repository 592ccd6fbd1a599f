"""Stream threads keep cores of Spark: what an application does where there are few."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from tests.integration.spark.instances import Instance, exact, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, sys, time
import penstock as ps
from pyspark.sql import SparkSession

config, names, source = json.loads(sys.argv[1])
# An application that makes the session ends it, too.
session = SparkSession.builder.master(config["spark.master"]).getOrCreate()


def application(name):
    builder = ps.StreamsBuilder()
    builder.stream(source).map_values(str.upper).to(name)
    return ps.KafkaStreams(builder.build(), {**config, "application.id": name})


def until(claim):
    deadline = time.monotonic() + 120
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.1)


started = [application(name) for name in names]
for streams in started[:2]:
    streams.start()
    assert streams.run_until_idle("120s")
last = started[2]
last.start()
until(lambda: last.waiting_for)
print("WAITING", last.waiting_for)
assert started[0].close("60s")
assert last.run_until_idle("120s")
print("RUNS", last.metrics().records)
for streams in started[1:]:
    assert streams.close("60s")
session.stop()
"""
SINK_PROGRAM = """
import json, sys
import penstock as ps
import penstock.errors

config, names, source = json.loads(sys.argv[1])
builder = ps.StreamsBuilder()
builder.stream(source).to_spark(lambda frame, batch: print("BATCH", frame.count()), name="rows")
streams = ps.KafkaStreams(builder.build(), {**config, "application.id": names[0]})
try:
    streams.start()
    print("IDLE", streams.run_until_idle("120s"))
except ps.errors.PenstockError as error:
    print("REFUSED", error)
streams.close()
"""


@pytest.fixture
def run(
    kafka_broker: str, tmp_path: Path, new_topic: Callable[..., str], produce: Callable[..., None]
) -> Callable[..., str]:
    """Runs a program with a number of cores, over ten records, and returns what it prints."""

    def start(program: str, master: str) -> str:
        source, names = new_topic("in"), [new_topic("out") for _ in range(3)]
        produce(source, *words(10))
        config = {
            "bootstrap.servers": kafka_broker, "state.dir": str(tmp_path), "spark.master": master,
            "spark.ui.enabled": "false", "commit.interval.ms": 50,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", program, json.dumps([config, names, source])],
            capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_one_core_is_enough_and_a_killed_thread_comes_back(
    start: Callable[..., Instance], topics: Any, produce: Callable[..., None],
    committed: Callable[..., list[tuple[Any, Any]]],
) -> None:  # fmt: skip
    """One thread has both slots. Spark gives up a job of such a session at its first failure."""
    source, sink = topics
    instance = start(spark_master="local[1]")
    instance.wait_until_running()
    for round_ in (1, 2):
        produce(source, *words(100))
        expected = {f"w{number}": 10 * round_ for number in range(10)}
        wait_for(lambda expected=expected: exact(committed(sink)) == expected, 120)  # type: ignore[misc]
        (thread,) = instance.threads().values()
        instance.send(SIGKILL, thread)
    wait_for(lambda: instance.threads() and thread not in instance.threads().values(), 120)
    assert instance.end() == 0
    instance.wait_until_gone(60)


@pytest.mark.slow
def test_an_application_without_a_free_core_says_so_and_runs_when_there_is_one(
    run: Callable[..., str],
) -> None:
    printed = run(PROGRAM, "local[2]").splitlines()
    assert "all its cores are busy" in printed[0]
    assert printed[1:] == ["RUNS 10"]


@pytest.mark.slow
def test_to_spark_needs_a_core_beside_the_stream_thread(run: Callable[..., str]) -> None:
    """With one core its job would wait for ever."""
    assert "[no-core-left]" in run(SINK_PROGRAM, "local[1]")
    printed = run(SINK_PROGRAM, "local[2]")
    assert "IDLE True" in printed
    assert "BATCH 10" in printed
