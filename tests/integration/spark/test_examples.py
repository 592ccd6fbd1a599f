"""Every example runs on real Kafka and Spark, with the same results as in the test driver."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import KafkaStreams, State, StreamsConfig
from penstock.cli.demo.program_demo import ProgramDemo, with_samples
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.snapshot import Watch
from penstock.kafka.admin import Admin
from penstock.kafka.broker_folder import free_port
from penstock.runtime.spark.driver.topics import external_topics
from tests.examples.play import played

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
    "event_collaboration": ("notifications-sent", "payment-statistics"),
    "order_saga": ("saga-states",),
    "cqrs": ("library-events",),
    "latest_by_version": ("contracts-latest",),
    "order_pipeline": (
        "processed-orders-goods", "processed-orders-services", "rejected-orders",
    ),
    "order_statistics": (
        "order-counts", "revenue", "order-counts-per-window", "orders-per-session",
    ),
}  # fmt: skip


@pytest.fixture
def load(kafka_admin: Admin, kafka_broker: str) -> Iterator[Load]:
    """Loads an example as ``--demo`` does and fills its topics, which are gone afterwards."""
    used: set[str] = set()

    def loaded(name: str) -> LoadedProgram:
        program = with_samples(load_program(str(EXAMPLES / name / "app.py")))
        used.update((*external_topics(program.topology.graph), *OUTPUTS.get(name, ())))
        # Some examples share the names of their topics.
        kafka_admin.delete_topics(used, missing_ok=True)
        assert program.prepare is not None
        program.prepare(kafka_broker)
        return program

    yield loaded
    kafka_admin.delete_topics(used, missing_ok=True)


def module(name: str) -> Any:
    """The example as it was loaded last."""
    return sys.modules[f"penstock_app_{name}_app"]


def expected(name: str, program: LoadedProgram) -> dict[str, dict[Any, Any]]:
    """The last bytes of each key in each output, as the test driver has them."""
    found: dict[str, dict[Any, Any]] = {topic: {} for topic in OUTPUTS[name]}
    with played(name, program.topology) as driver:
        for topic, last in found.items():
            last.update((record.key, record.value) for record in driver.take_all(topic))
    return found


@pytest.fixture
def compare(
    load: Load, streams_of: Callable[..., KafkaStreams], committed: Records
) -> Callable[..., None]:
    """Runs the sample of an example, asks its stores, and compares all that was written."""

    def run(name: str, ask: Callable[[KafkaStreams], None] = lambda streams: None) -> None:
        program = load(name)
        with streams_of(program.topology, **own(program)) as streams:
            assert streams.run_until_idle("300s")
            ask(streams)
        results = {topic: dict(committed(topic)) for topic in OUTPUTS[name]}
        assert results == expected(name, program)
        assert all(results.values())

    return run


def own(program: LoadedProgram) -> dict[str, Any]:
    """The example's settings; the name is the test's."""
    return {
        name.replace(".", "_"): value
        for name, value in program.config.items()
        if name != "application.id"
    }


#: Those whose stores are asked have tests of their own. The test driver runs the others as well.
ASKED = ("crypto_sentiment", "order_statistics")
VARIED = ("word_count", "order_enrichment", "purchases")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in VARIED))
        for name in OUTPUTS
        if name not in ASKED
    ],
)
def test_sample_gives_what_the_test_driver_gives(name: str, compare: Callable[..., None]) -> None:
    """Two partitions, a real broker and Spark change nothing about the result."""
    compare(name)


def test_stores_of_order_statistics_answer_while_it_runs(compare: Callable[..., None]) -> None:
    """EX-19 to EX-21: counts, revenue, windows and sessions by user."""

    def ask(streams: KafkaStreams) -> None:
        assert streams.store("order-count-store").get("user-123") == 4
        assert streams.store("revenue-store")["user-123"] == 162.5
        assert [count for _, count in streams.store("windowed-order-count").all()].count(2) == 1
        sessions = [(key.key, n) for key, n in streams.store("user-session-counts").all()]
        expected_sessions = [("user-123", 1), ("user-123", 3), ("user-456", 1), ("user-456", 2)]
        assert sorted(sessions) == expected_sessions

    compare("order_statistics", ask)


def test_store_with_values_of_the_program_s_own_type_can_be_asked(
    compare: Callable[..., None],
) -> None:
    """The class that comes back is the one that the program defined."""

    def ask(streams: KafkaStreams) -> None:
        solana = streams.store("sentiment-store").get("solana")
        assert solana == module("crypto_sentiment").Sentiment(negative=1)

    compare("crypto_sentiment", ask)


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


def test_user_counts_answer_over_http(load: Load, streams_of: Callable[..., KafkaStreams]) -> None:
    """EX-02: any user, while the application runs."""
    program = load("user_counts")
    server = f"localhost:{free_port()}"
    with streams_of(program.topology, application_server=server) as streams:
        assert streams.run_until_idle("300s")
        answer = module("user_counts").ask("/stores/user-counts/user42", server)
    assert (answer["key"], answer["value"]) == ("user42", 4)


def test_view_that_is_dropped_is_made_again_from_the_log(
    load: Load, streams_of: Callable[..., KafkaStreams], application_id: str, tmp_path: Path
) -> None:
    """EX-09: a new application with nothing but the log has the same search index."""
    program = load("database_inside_out")
    with streams_of(program.topology) as streams:
        assert streams.run_until_idle("300s")
        before = dict(streams.store("search-index").all())
        assert streams.store("categories").get("light").products == 2
    again = {"application.id": f"{application_id}-again", "state.dir": str(tmp_path / "again")}
    with streams_of(module("database_inside_out").search_alone(), **again) as streams:
        assert streams.run_until_idle("300s")
        assert dict(streams.store("search-index").all()) == before
    assert before["lamp"] == {"p-1", "p-2"}


def test_service_says_whether_it_is_up(load: Load, streams_of: Callable[..., KafkaStreams]) -> None:
    """EX-24: the health page of the server and that of the program agree."""
    program = load("order_service")
    server = f"localhost:{free_port()}"
    streams = streams_of(program.topology, application_server=server, num_stream_threads=2)
    health = module("order_service").health
    assert health(streams)["status"] == "DOWN"
    with streams:
        assert streams.run_until_idle("300s")
        assert health(streams) == {"status": "UP", "state": "RUNNING"}
        ready = fetched(f"http://{server}/health/ready")
        assert ready["state"] == "RUNNING"
    assert health(streams)["status"] == "DOWN"


def test_own_write_is_part_of_the_answer(
    load: Load, streams_of: Callable[..., KafkaStreams], kafka_broker: str
) -> None:
    """PT-11: the answer waits for the offset that the producer was told."""
    program = load("read_your_writes")
    example = module("read_your_writes")
    with streams_of(program.topology) as streams:
        assert streams.run_until_idle("300s")
        for expected_count in (3, 4):
            place = example.vote(kafka_broker, "ann")
            assert example.votes_after(streams, "ann", *place, timeout_s=120) == expected_count


def test_state_directory_has_a_folder_for_each_task(
    load: Load, streams_of: Callable[..., KafkaStreams], tmp_path: Path
) -> None:
    """EX-03: two tasks of one sub-topology, and one of the other."""
    program = load("state_directory")
    with streams_of(program.topology) as streams:
        assert streams.run_until_idle("300s")
    assert module("state_directory").tree(tmp_path / "state") == [
        "0_0/pulse-counts",
        "0_1/pulse-counts",
        "1_0/another-store",
    ]


def test_word_is_found_with_its_place(load: Load, streams_of: Callable[..., KafkaStreams]) -> None:
    """EX-29: the value, and the instance that has it."""
    program = load("word_lookup")
    server = f"localhost:{free_port()}"
    with streams_of(program.topology, application_server=server) as streams:
        assert streams.run_until_idle("300s")
        assert streams.store("word-count-store").get("kafka") == 2
        place = streams.query_metadata_for_key("word-count-store", "kafka")
    assert f"{place.active_host.host}:{place.active_host.port}" == server


def fetched(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(file.parent.name for file in EXAMPLES.glob("*/app.py")))
def test_demonstration_shows_something(
    name: str,
    load: Load,
    streams_of: Callable[..., KafkaStreams],
    kafka_broker: str,
    application_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What ``--demo`` prints: records of the output topics, and what the program's show asks."""
    monkeypatch.setenv("PORT", str(free_port()))
    monkeypatch.setenv("THREADS", "2")
    program = load(name)
    names = {"application.id": application_id, "bootstrap.servers": kafka_broker}
    with streams_of(program.topology, **own(program)) as streams:
        demo = ProgramDemo(program, streams, StreamsConfig(names))
        assert streams.run_until_idle("300s")
        deadline = time.monotonic() + 120
        with Watch(streams) as watch:
            while not demo.is_over(watch.latest):
                assert time.monotonic() < deadline
                time.sleep(0.2)
    assert demo.error is None
    assert demo.outputs or demo.shown
