"""Records that Kafka refuses: the production handler decides, and nothing else is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

import penstock as ps
from penstock.errors import StreamsError
from penstock.processor.handlers import (
    CONTINUE,
    FAIL,
    RETRY,
    DeadLetter,
    ErrorHandlerContext,
    Response,
)
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication

LIMIT = 20
Handler = Callable[[ErrorHandlerContext, Any, Exception], Any]


def refuse(topic: str, key: bytes, value: bytes | None, timestamp: int) -> KafkaError | None:
    """Takes small records with timestamps below a thousand."""
    if topic == "out" and len(value or b"") > LIMIT:
        return KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    if topic == "out" and timestamp >= 1_000:
        return KafkaError(KafkaError.INVALID_TIMESTAMP)
    return None


def shouting(builder: ps.StreamsBuilder) -> None:
    lines = builder.stream("in", key="string", value="string")
    counts = lines.group_by_key().count("counts").to_stream()
    counts.to("counted")
    lines.map_values(lambda line: line.upper()).to("out")


@pytest.fixture
def kafka() -> MemoryKafka:
    made = MemoryKafka(1)
    for topic in ("in", "out", "counted", "dead"):
        made.create(topic)
    made.refusal = refuse
    return made


Staged = Callable[..., StagedApplication]


@pytest.fixture
def staged(kafka: MemoryKafka) -> Iterator[Staged]:
    made: list[StagedApplication] = []

    def make(handler: Handler, store_format: str = "DEFAULT") -> StagedApplication:
        builder = ps.StreamsBuilder({"dsl.store.format": store_format})
        shouting(builder)
        settings = {
            "application.id": "app", "bootstrap.servers": "memory:9092",
            "statestore.cache.max.bytes": 0, "production.exception.handler": handler,
        }  # fmt: skip
        made.append(StagedApplication(builder.build().graph, settings, kafka))
        return made[-1]

    yield make
    for each in made:
        each.close()


def run(application: StagedApplication) -> int:
    """Run a batch as the driver does: again, while a refusal was only noticed; count the runs."""
    runs, rerun = 1, False
    while True:
        try:
            application.run_again() if rerun else application.run_batch(0)
            return runs
        except StreamsError as error:
            if error.code != "refusal-noticed" or runs == 20:
                raise
            runs, rerun = runs + 1, True


def values(kafka: MemoryKafka, topic: str) -> list[bytes | None]:
    return [record.value for record in kafka.committed if record.topic == topic]


def feed(kafka: MemoryKafka, *lines: str) -> None:
    for number, line in enumerate(lines):
        kafka.append("in", b"k", line.encode(), number)


def test_handler_continues_and_only_the_refused_records_are_missing(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """The other sinks, the stores and the records around them are as without the refusal."""
    asked: list[tuple[ErrorHandlerContext, Any, Exception]] = []

    def skip(*given: Any) -> Any:
        asked.append(given)
        return CONTINUE

    feed(kafka, "a", "b" * 30, "c", "d" * 40, "e")
    application = staged(skip)
    run(application)
    assert values(kafka, "out") == [b"A", b"C", b"E"]
    assert len(values(kafka, "counted")) == 5
    assert [(each[0].offset, each[1].value) for each in asked] == [(1, b"B" * 30), (3, b"D" * 40)]
    assert asked[0][0].topic == "in"
    assert asked[0][0].source_raw_value == b"b" * 30
    assert asked[0][0].processor_node_id.startswith("KSTREAM-SINK")
    assert "larger than the topic's max.message.bytes" in str(asked[0][2])
    feed(kafka, "f")
    assert run(application) == 1
    assert values(kafka, "out")[-1] == b"F"


def test_one_refused_size_finds_all_larger_records(kafka: MemoryKafka, staged: Staged) -> None:
    """A batch does not run once for each of many large records."""
    feed(kafka, "a", *("b" * size for size in range(30, 90)), "c")
    assert run(staged(lambda *_: CONTINUE)) <= 5
    assert values(kafka, "out") == [b"A", b"C"]


def test_each_kind_of_refusal_is_asked_about(kafka: MemoryKafka, staged: Staged) -> None:
    """Not only the size: a timestamp may be refused, too."""
    for timestamp in (1, 5_000, 2, 7_000):
        kafka.append("in", b"k", str(timestamp).encode(), timestamp)
    run(staged(lambda *_: "continue"))
    assert values(kafka, "out") == [b"1", b"2"]


def test_dead_letters_are_written_with_the_batch(kafka: MemoryKafka, staged: Staged) -> None:
    """In place of the refused record, once."""

    def bury(context: ErrorHandlerContext, record: Any, error: Exception) -> Response:
        return Response.resume([DeadLetter("dead", record.key, b"too large")])

    feed(kafka, "a", "b" * 30, "c")
    run(staged(bury))
    assert values(kafka, "out") == [b"A", b"C"]
    assert values(kafka, "dead") == [b"too large"]


def test_handler_that_fails_ends_the_batch_with_the_record_s_place(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Nothing of the batch is committed."""
    feed(kafka, "a", "b" * 30)
    with pytest.raises(StreamsError) as failure:
        run_until_decided(staged(lambda *_: FAIL))
    assert failure.value.code == "record-refused"
    assert "a record of 31 bytes" in failure.value.message
    assert "topic 'out', made from topic 'in' partition 0 offset 1" in failure.value.message
    assert values(kafka, "out") == []


def run_until_decided(application: StagedApplication) -> None:
    with pytest.raises(StreamsError, match="Kafka refused a record"):
        application.run_batch(0)
    application.run_again()


def test_retry_writes_the_record_when_the_topic_takes_it(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """An operator may raise the topic's limit meanwhile."""
    asked = []

    def again(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 3:
            kafka.refusal = lambda *record: None
        return RETRY

    feed(kafka, "a", "b" * 30, "c")
    run(staged(again))
    assert values(kafka, "out") == [b"A", b"B" * 30, b"C"]


@pytest.mark.parametrize("store_format", ["DEFAULT", "HEADERS"])
def test_refused_changelog_record_is_never_skipped(
    kafka: MemoryKafka, staged: Staged, store_format: str
) -> None:
    """A store would differ from its changelog; the handler is not even asked."""
    asked = []
    kafka.refusal = lambda topic, key, *_: (
        KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
        if (topic, key) == ("app-counts-changelog", b"k")
        else None
    )
    for key in (b"k", b"other"):
        kafka.append("in", key, b"a", 0, (("trace", b"1"),))
    with pytest.raises(StreamsError, match="app-counts-changelog") as failure:
        run_until_decided(staged(lambda *given: asked.append(given) or CONTINUE, store_format))
    assert failure.value.code == "record-refused"
    assert asked == []


@pytest.mark.parametrize("what", ["task/0_0/0", "task/1_0/1", None])
def test_the_application_s_own_records_are_never_shown_to_the_handler(
    kafka: MemoryKafka, staged: Staged, what: str | None
) -> None:
    """One that is skipped would take a marker, and with it exactly-once, or input of a stage."""
    asked = []

    def refused(topic: str, key: bytes | None, *_: Any) -> KafkaError | None:
        is_own = topic == "app-penstock-batches" and (key or b"").decode() == what
        is_own = is_own or (what is None and topic.endswith("-repartition"))
        return KafkaError(KafkaError.INVALID_TIMESTAMP) if is_own else None

    kafka.refusal = refused
    kafka.append("in", b"k", b"a", 0)
    builder = ps.StreamsBuilder()
    lines = builder.stream("in", key="string", value="string")
    lines.group_by(lambda key, value: value).count("counts").to_stream().to("counted")
    settings = {
        "application.id": "app", "bootstrap.servers": "memory:9092",
        "production.exception.handler": lambda *given: asked.append(given) or CONTINUE,
    }  # fmt: skip
    application = StagedApplication(builder.build().graph, settings, kafka)
    try:
        with pytest.raises(StreamsError) as failure:
            run_until_decided(application)
    finally:
        application.close()
    assert failure.value.code == "record-refused"
    assert asked == []


def test_times_in_the_batch_log_follow_nobody_s_clock(kafka: MemoryKafka, staged: Staged) -> None:
    """A broker would refuse them while the driver's clock is ahead."""
    feed(kafka, "a")
    staged(lambda *given: CONTINUE).run_batch(1 << 50)
    own = [each for each in kafka.committed if each.topic == "app-penstock-batches"]
    assert own
    assert {each.timestamp for each in own} == {1}


def test_broken_handler_is_named(kafka: MemoryKafka, staged: Staged) -> None:
    """Its own error is not taken for the record's."""

    def broken(*given: Any) -> Any:
        raise ValueError("no idea")

    feed(kafka, "b" * 30)
    with pytest.raises(StreamsError, match="no idea") as failure:
        run_until_decided(staged(broken))
    assert failure.value.code == "exception-handler"


def test_a_record_that_is_refused_behind_a_repartition_is_skipped_too(kafka: MemoryKafka) -> None:
    """The stage before it commits again, with nothing to write, and must not end the search."""
    kafka.refusal = lambda topic, *_: (
        KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if topic == "counted" else None
    )
    kafka.append("in", b"k", b"a", 0)
    builder = ps.StreamsBuilder()
    lines = builder.stream("in", key="string", value="string")
    lines.group_by(lambda key, value: value).count("counts").to_stream().to("counted")
    settings = {
        "application.id": "app", "bootstrap.servers": "memory:9092",
        "production.exception.handler": lambda *given: CONTINUE,
    }  # fmt: skip
    application = StagedApplication(builder.build().graph, settings, kafka)
    try:
        assert run(application) < 5
    finally:
        application.close()
