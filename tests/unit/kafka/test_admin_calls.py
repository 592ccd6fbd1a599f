"""Requests of the admin client: what is repeated, for how long, and how it ends."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.admin_calls import AdminCalls
from penstock.kafka.errors import KafkaRequestError

_PASSING = (KafkaError.UNKNOWN_TOPIC_OR_PART,)


def _calls(timeout_s: float) -> AdminCalls:
    # Nobody listens there: these tests give the answers themselves.
    return AdminCalls({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, timeout_s)


class _Answers:
    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        code = self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]
        if code == KafkaError.NO_ERROR:
            return "done"
        raise KafkaException(KafkaError(code))


def test_a_passing_error_is_repeated_until_it_has_passed() -> None:
    """A new topic is known to its leader a moment later."""
    answers = _Answers(*_PASSING, *_PASSING, KafkaError.NO_ERROR)
    assert _calls(10).tried(answers, "reach the leaders", _PASSING) == "done"
    assert answers.asked == 3


def test_a_passing_error_that_lasts_is_a_slow_broker_and_not_a_refusal() -> None:
    """An application waits for a slow broker. A refusal would end it."""
    with pytest.raises(KafkaRequestError) as raised:
        _calls(0.2).tried(_Answers(*_PASSING), "reach the leaders", _PASSING)
    assert raised.value.code == "broker-unreachable"
    assert "cannot reach the leaders" in raised.value.message


def test_another_error_is_raised_at_once() -> None:
    """Asking again would not help."""
    answers = _Answers(KafkaError.INVALID_PARTITIONS)
    with pytest.raises(KafkaRequestError) as raised:
        _calls(10).tried(answers, "make a topic", _PASSING)
    assert (raised.value.code, answers.asked) == ("kafka-refused", 1)
