"""Questions about offsets: a leader that was just chosen is waited for. See ``kafka.admin``."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.kafka import admin as admin_module
from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError


class _Broker:
    """Answers as often with an error as a test wants, and then with an offset."""

    def __init__(self, code: int, times: int) -> None:
        self._code, self._times = code, times
        self.asked = 0

    def list_offsets(self, request: dict[TopicPartition, Any], **_: Any) -> dict[Any, Any]:
        self.asked += 1
        answer: Future[Any] = Future()
        if self.asked <= self._times:
            answer.set_exception(KafkaException(KafkaError(self._code)))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(request, answer)


def _asked(broker: _Broker, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], int]:
    admin = Admin({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, timeout_s=0.2)
    monkeypatch.setattr(admin, "_client", broker)
    monkeypatch.setattr(admin, "_check_partitions", lambda asked: None)
    return admin.end_offsets([("topic", 0)])


def test_a_new_leader_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client learns of it a moment later than the broker."""
    broker = _Broker(KafkaError.FENCED_LEADER_EPOCH, 2)
    assert _asked(broker, monkeypatch) == {("topic", 0): 7}
    assert broker.asked == 3


def test_waiting_for_a_leader_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application says what it waits for, and tries again itself."""
    monkeypatch.setattr(admin_module, "_NEW_LEADER_S", 0.2)
    broker = _Broker(KafkaError.FENCED_LEADER_EPOCH, 1000)
    with pytest.raises(KafkaRequestError, match="new leader"):
        _asked(broker, monkeypatch)
    assert broker.asked > 1


def test_what_waiting_does_not_cure_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker(KafkaError.UNSUPPORTED_VERSION, 1)
    with pytest.raises(KafkaRequestError):
        _asked(broker, monkeypatch)
    assert broker.asked == 1
