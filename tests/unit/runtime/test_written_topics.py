"""Topics that an application writes are checked before Spark starts."""

from typing import Any

import pytest

from penstock import StreamsBuilder
from penstock.config import StreamsConfig
from penstock.errors import ConfigError, TopologyError
from penstock.runtime.spark.driver import written_topics
from penstock.runtime.spark.driver.written_topics import check_written_topics
from penstock.topology.graph import Graph


class Broker:
    """Says whether it creates topics; counts how often it is asked."""

    def __init__(self, answer: bool | None) -> None:
        self.asked = 0
        self._answer = answer

    def creates_topics(self) -> bool | None:
        self.asked += 1
        return self._answer


def graph(*sinks: str) -> Graph:
    builder = StreamsBuilder()
    stream = builder.stream("in").group_by(lambda _, value: value).count().to_stream()
    for sink in sinks:
        stream.to(sink)
    return builder.build().graph


def config(**more: str) -> StreamsConfig:
    return StreamsConfig({"application.id": "shop", "bootstrap.servers": "127.0.0.1:1", **more})


def check(broker: Any, existing: tuple[str, ...], *sinks: str, **settings: str) -> None:
    there: Any = dict.fromkeys(existing)
    check_written_topics(graph(*sinks), config(**settings), broker, there)


LETTERS = {"errors.dead.letter.queue.topic.name": "letters"}


def test_output_topics_that_exist_need_no_question() -> None:
    """Internal topics are made by the application itself."""
    broker = Broker(False)
    check(broker, ("in", "out", "letters"), "out", **LETTERS)
    assert broker.asked == 0


def test_rows_for_spark_and_topics_chosen_per_record_are_no_output_topics() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to_spark(lambda frame, batch: None)
    stream.to(lambda key, value, context: f"out-{key}")
    broker: Any = Broker(False)
    check_written_topics(builder.build().graph, config(), broker, {"in": None})  # type: ignore[dict-item]
    assert broker.asked == 0


def test_all_missing_output_topics_are_named_with_one_command() -> None:
    with pytest.raises(TopologyError) as raised:
        check(Broker(False), ("in", "order"), "orders", "totals")
    assert raised.value.code == "missing-topic"
    assert raised.value.message == (
        "output topic 'orders' does not exist (nor do 'totals'); did you mean 'order'?"
    )
    assert "penstock topics create orders totals" in str(raised.value)
    assert "test_written_topics.py:" in str(raised.value)


@pytest.mark.parametrize("answer", [True, None])
def test_a_broker_that_may_create_topics_decides_with_the_first_record(answer: bool | None) -> None:
    """None: the user has no right to read the settings of a broker."""
    check(Broker(answer), ("in",), "out")


def test_a_missing_dead_letter_topic_is_refused_without_asking_a_producer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The producer's question takes three seconds, and Spark would start meanwhile."""
    monkeypatch.setattr(written_topics, "new_producer", lambda _: pytest.fail("asked"))
    with pytest.raises(ConfigError, match="'letters', does not exist"):
        check(Broker(False), ("in", "out"), "out", **LETTERS)


@pytest.mark.parametrize("answer", [True, None])
def test_a_producer_asks_for_the_dead_letter_topic_where_brokers_may_create_it(
    answer: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def is_created(config: StreamsConfig, topic: str) -> bool:
        asked.append(topic)
        return len(asked) == 1

    monkeypatch.setattr(written_topics, "_is_created", is_created)
    check(Broker(answer), ("in", "out"), "out", **LETTERS)
    with pytest.raises(ConfigError, match="missing-dead-letter-topic"):
        check(Broker(answer), ("in", "out"), "out", **LETTERS)
    assert asked == ["letters", "letters"]
