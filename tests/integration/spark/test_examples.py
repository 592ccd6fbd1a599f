"""Every example runs on real Kafka and Spark, with the same results as in the test driver."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import KafkaStreams, State, TopologyTestDriver
from penstock.cli.program import LoadedProgram, load_program
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.topics import external_topics

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EXAMPLES = Path(__file__).parents[3] / "examples"

Records = Callable[[str], list[tuple[Any, Any]]]
Load = Callable[[str], LoadedProgram]

#: The outputs of each example that runs through its sample and is done.
OUTPUTS = {
    "word_count": ("wordcount-output",),
    "fraud_detection": ("fraud-alerts",),
    "order_enrichment": ("orders-with-users", "orders-with-products", "matched-payments"),
    "crypto_sentiment": ("crypto-sentiment",),
    "purchases": ("patterns", "rewards", "purchases"),
    "order_statistics": (
        "order-counts", "revenue", "order-counts-per-window", "orders-per-session",
    ),
}  # fmt: skip
SAMPLES = {"word_count": "text.txt"}


@pytest.fixture
def load(kafka_admin: Admin, kafka_broker: str) -> Iterator[Load]:
    """Loads an example as ``penstock run`` does and fills its topics, which are gone afterwards."""
    used: list[str] = []

    def loaded(name: str) -> LoadedProgram:
        program = load_program(str(EXAMPLES / f"{name}.py"))
        used.extend(external_topics(program.topology.graph))
        # Some examples share the names of their topics.
        kafka_admin.delete_topics(used, missing_ok=True)
        assert program.prepare is not None
        program.prepare(kafka_broker)
        return program

    yield loaded
    kafka_admin.delete_topics(used, missing_ok=True)


def module(name: str) -> Any:
    """The example as it was loaded last."""
    return sys.modules[f"penstock_app_{name}"]


def expected(name: str, program: LoadedProgram) -> dict[str, dict[Any, Any]]:
    """The last bytes of each key in each output, as the test driver has them."""
    samples = sys.modules["samples"]
    found: dict[str, dict[Any, Any]] = {topic: {} for topic in OUTPUTS[name]}
    with TopologyTestDriver(program.topology) as driver:
        for sample in samples.read_samples(SAMPLES.get(name, f"{name}.jsonl"), "text-input"):
            key = None if sample.key is None else sample.key.encode()
            driver.pipe_bytes(sample.topic, key, sample.value_bytes, sample.time_ms)
        for topic, last in found.items():
            last.update((record.key, record.value) for record in driver.take_all(topic))
    return found


@pytest.mark.parametrize("name", OUTPUTS)
def test_sample_gives_what_the_test_driver_gives(
    name: str, load: Load, streams_of: Callable[..., KafkaStreams], committed: Records
) -> None:
    """Two partitions, a real broker and Spark change nothing about the result."""
    program = load(name)
    with streams_of(program.topology, **own(program)) as streams:
        assert streams.run_until_idle("300s")
    results = {topic: dict(committed(topic)) for topic in OUTPUTS[name]}
    assert results == expected(name, program)
    assert all(results.values())


def own(program: LoadedProgram) -> dict[str, Any]:
    """The example's settings; the name is the test's."""
    return {
        name.replace(".", "_"): value
        for name, value in program.config.items()
        if name != "application.id"
    }


def test_stores_of_order_statistics_answer_while_it_runs(
    load: Load, streams_of: Callable[..., KafkaStreams]
) -> None:
    """EX-19 to EX-21: counts, revenue, windows and sessions by user."""
    program = load("order_statistics")
    with streams_of(program.topology) as streams:
        assert streams.run_until_idle("300s")
        assert streams.store("order-count-store").get("user-123") == 4
        assert streams.store("revenue-store")["user-123"] == 162.5
        assert [count for _, count in streams.store("windowed-order-count").all()].count(2) == 1
        sessions = [(key.key, n) for key, n in streams.store("user-session-counts").all()]
    expected_sessions = [("user-123", 1), ("user-123", 3), ("user-456", 1), ("user-456", 2)]
    assert sorted(sessions) == expected_sessions


def test_store_with_values_of_the_program_s_own_type_can_be_asked(
    load: Load, streams_of: Callable[..., KafkaStreams]
) -> None:
    """The class that comes back is the one that the program defined."""
    program = load("crypto_sentiment")
    with streams_of(program.topology) as streams:
        assert streams.run_until_idle("300s")
        solana = streams.store("sentiment-store").get("solana")
    assert solana == module("crypto_sentiment").Sentiment(negative=1)


def test_watchdog_alerts_without_input(
    load: Load, streams_of: Callable[..., KafkaStreams], committed: Records
) -> None:
    """EX-04: two machines of the sample have been silent for long; nothing else arrives."""
    program = load("heartbeat_watchdog")
    with streams_of(program.topology):
        deadline = time.monotonic() + 180
        while len(committed("alerts")) < 2 and time.monotonic() < deadline:
            time.sleep(1)
    alerts = committed("alerts")
    assert sorted(key for key, _ in alerts) == [b"oven-2", b"press-2"]
    assert all(b'"kind":"silent"' in value for _, value in alerts)


def test_production_word_count_survives_the_loss_of_a_thread(
    load: Load, kafka_broker: str, spark: Any, tmp_path: Path, committed: Records
) -> None:
    """EX-28: two threads, a failure, a new thread in its place, and a graceful end."""
    load("word_count_production")
    example = module("word_count_production")
    # Loading has put a stand-in there, so that nothing is started.
    example.KafkaStreams = KafkaStreams
    fail_once = tmp_path / "fail once"
    fail_once.touch()
    split, seen = example.words, []

    def words(line: str) -> list[str]:
        if "book" in line and fail_once.exists():
            fail_once.unlink()
            raise RuntimeError("a worker was lost")
        return split(line)

    example.words = words
    state = {"bootstrap.servers": kafka_broker, "state.dir": str(tmp_path / "state")}
    streams = example.application(state)
    streams.set_state_listener(lambda new, old: seen.append(new))
    with streams:
        assert streams.run_until_idle("300s")
        assert len(streams.metadata_for_local_threads()) == 2
        counts = dict(streams.store("word-count-store").all())
        assert streams.close("120s")
    assert not fail_once.exists()
    assert seen.count(State.REBALANCING) == 2
    assert seen[-2:] == [State.PENDING_SHUTDOWN, State.NOT_RUNNING]
    assert (counts["water"], counts["book"], "" in counts) == (11, 4, False)
    written = {key.decode(): int.from_bytes(n, "big") for key, n in committed("wordcount-output")}
    assert written == counts
