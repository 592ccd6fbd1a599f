"""Creating topics on a cluster that is not ready yet. See ``kafka.admin``."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.errors import KafkaRequestError

FENCED = KafkaError(
    KafkaError.INVALID_REPLICATION_FACTOR, "Unable to replicate: All brokers are currently fenced."
)
TOO_FEW = KafkaError(
    KafkaError.INVALID_REPLICATION_FACTOR, "Unable to replicate: only 1 broker(s) are registered."
)
EXISTS = KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)


class _Controller:
    """Refuses new topics with these errors, one after the other, and then makes them."""

    def __init__(self, *errors: KafkaError) -> None:
        self._errors = list(errors)
        self.asked: list[str] = []
        self.configs: list[dict[str, str]] = []

    def create_topics(self, request: list[NewTopic], **_: Any) -> dict[str, Future[None]]:
        self.configs += [dict(new.config or {}) for new in request]
        return {new.topic: self._answer(new.topic) for new in request}

    def _answer(self, name: str) -> Future[None]:
        self.asked.append(name)
        answer: Future[None] = Future()
        if self._errors:
            answer.set_exception(KafkaException(self._errors.pop(0)))
        else:
            answer.set_result(None)
        return answer


def _created(controller: _Controller, *topics: str) -> list[bool]:
    admin = Admin({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, timeout_s=5.0)
    admin._client = controller  # type: ignore[assignment]
    asked = controller.create_topics([NewTopic(name, num_partitions=1) for name in topics])
    return [admin._created(TopicSpec(name), asked[name]) for name in topics]


def test_a_topic_is_asked_for_again_while_all_brokers_start() -> None:
    """A controller on a slow machine answers before its only broker has told that it is there."""
    controller = _Controller(FENCED, FENCED)
    assert _created(controller, "a") == [True]
    assert controller.asked == ["a", "a", "a"]


def test_only_the_topic_that_failed_is_asked_for_again() -> None:
    controller = _Controller(FENCED)
    assert _created(controller, "a", "b") == [True, True]
    assert sorted(controller.asked) == ["a", "a", "b"]


def test_a_topic_that_exists_is_not_new() -> None:
    assert _created(_Controller(FENCED, EXISTS), "a") == [False]


def test_too_few_brokers_are_told_at_once() -> None:
    controller = _Controller(TOO_FEW)
    with pytest.raises(KafkaRequestError, match="only 1 broker"):
        _created(controller, "a")
    assert controller.asked == ["a"]


def test_an_older_broker_gets_only_the_settings_that_it_knows() -> None:
    """Kafka 3.5 refuses a topic with a setting of a later version."""
    unknown = KafkaError(KafkaError.INVALID_CONFIG, "Unknown topic config name: newer.setting")
    controller = _Controller(unknown)
    admin = Admin({"bootstrap.servers": "nowhere:1"})
    admin._client = controller  # type: ignore[assignment]
    spec = TopicSpec("log", config={"retention.ms": "-1"}, newer={"newer.setting": "1"})
    asked = controller.create_topics([NewTopic("log", num_partitions=1)])
    assert admin._created(spec, asked["log"])
    assert controller.configs[-1] == {"retention.ms": "-1"}
