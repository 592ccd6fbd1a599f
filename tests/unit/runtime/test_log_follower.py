"""The batch log is followed as it grows: what is known, and when everything is."""

import logging
import threading
import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.runtime.spark.exchange.batch_log import InstanceRecord
from penstock.runtime.spark.replica import log_follower
from penstock.runtime.spark.replica.log_follower import LogFollower
from tests.runtime.slot_processes import happens

PATIENCE_S = 30.0
ONE = InstanceRecord(id="one", pid=1, host="h", port=2, server="h:80", started_ms=3)


class Message:
    def __init__(
        self, key: str = "", value: bytes | None = None, error: Any = None, offset: int = 0
    ) -> None:
        self._parts = key.encode(), value, error
        self._offset = offset

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return self._parts[0]

    def value(self) -> bytes | None:
        return self._parts[1]

    def error(self) -> Any:
        return self._parts[2]


END = Message(error=KafkaError(KafkaError._PARTITION_EOF))


class Consumer:
    """Hands out what ``send`` gives it, an exception included."""

    def __init__(self, settings: dict[str, Any], end: int | None) -> None:
        self.settings = settings
        self._end = end
        self.assigned: list[tuple[str, int, int]] = []
        self.is_closed = False
        self._waiting: list[Any] = []
        self._arrived = threading.Event()

    def assign(self, parts: list[Any]) -> None:
        self.assigned = [(part.topic, part.partition, part.offset) for part in parts]

    def get_watermark_offsets(self, part: Any, timeout: float) -> tuple[int, int]:
        if self._end is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return 0, self._end

    def send(self, messages: Any) -> None:
        self._waiting.append(messages)
        self._arrived.set()

    def consume(self, count: int, timeout: float) -> Any:
        if not self._waiting:
            self._arrived.wait(0.01)
            self._arrived.clear()
            return []
        found = self._waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        self.is_closed = True


class Followed:
    """A follower over a consumer that the test feeds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, end: int | None = None) -> None:
        self._end = end
        self.changed = threading.Event()
        self.made: list[Consumer] = []
        #: Raised, one after the other, in place of the next consumers.
        self.failures: list[Exception] = []
        monkeypatch.setattr(log_follower, "new_consumer", self._consumer)
        settings = {"group.id": "app", "group.instance.id": "one"}
        self.follower = LogFollower("app-batches", settings, self.changed.set)
        self.consumer = self.made[0]

    def _consumer(self, settings: dict[str, Any]) -> Consumer:
        if self.failures:
            raise self.failures.pop(0)
        self.made.append(Consumer(settings, self._end))
        return self.made[-1]

    def send(self, *messages: Message) -> None:
        self.changed.clear()
        self.consumer.send(list(messages))
        assert self.changed.wait(PATIENCE_S)


def test_records_change_the_state_and_the_caller_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that registers is known; one that leaves is forgotten."""
    followed = Followed(monkeypatch)
    followed.send(Message("instance/one", ONE.to_json()))
    assert followed.follower.state.instances == {"one": ONE}
    assert not followed.follower.is_current.is_set()
    followed.send(Message("instance/one", None), END)
    assert followed.follower.state.instances == {}
    assert followed.follower.is_current.is_set()
    followed.follower.close()


def test_the_last_record_from_before_the_start_makes_the_state_current(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The start of a query waits for it, and the broker's own word for it comes much later."""
    followed = Followed(monkeypatch, end=2)
    followed.send(Message("instance/one", ONE.to_json(), offset=0))
    assert not followed.follower.is_current.is_set()
    followed.send(Message("instance/one", None, offset=1))
    assert followed.follower.is_current.is_set()
    followed.follower.close()


def test_the_log_is_read_from_its_beginning_committed_records_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The follower is not a member of the group: it must not take the instance's place in it."""
    followed = Followed(monkeypatch)
    followed.send(END)
    followed.follower.close()
    settings = followed.consumer.settings
    assert followed.consumer.assigned == [("app-batches", 0, 0)]
    assert settings["isolation.level"] == "read_committed"
    assert "group.instance.id" not in settings
    assert followed.consumer.is_closed


@pytest.mark.parametrize("failure", [KafkaException(KafkaError(KafkaError._FATAL)), OSError("x")])
def test_another_consumer_goes_on_after_one_that_has_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    """An instance that follows nothing would not know who leads."""
    monkeypatch.setattr(log_follower, "_AGAIN_S", (0.01,))
    followed = Followed(monkeypatch)
    followed.send(Message("instance/one", ONE.to_json(), offset=4))
    with caplog.at_level(logging.ERROR, logger=log_follower.__name__):
        followed.consumer.send(failure)
        assert happens(lambda: len(followed.made) == 2, PATIENCE_S)
    assert followed.consumer.is_closed
    assert "app-batches cannot be followed" in caplog.text
    assert followed.follower.state.instances == {"one": ONE}
    followed.consumer = followed.made[1]
    followed.send(Message("instance/one", None, offset=5))
    assert followed.follower.state.instances == {}
    assert followed.consumer.assigned == [("app-batches", 0, 5)]
    followed.follower.close()


def test_a_consumer_that_cannot_be_made_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process may have too many files open for a while; its trace is told once."""
    monkeypatch.setattr(log_follower, "_AGAIN_S", (0.01, 0.02))
    followed = Followed(monkeypatch)
    followed.send(Message("instance/one", ONE.to_json(), offset=4))
    followed.failures = [OSError(24, "Too many open files"), MemoryError(), OSError(24, "again")]
    with caplog.at_level(logging.ERROR, logger=log_follower.__name__):
        followed.consumer.send(KafkaException(KafkaError(KafkaError._FATAL)))
        assert happens(lambda: len(followed.made) == 2, PATIENCE_S)
    assert len(caplog.records) == 4
    assert [bool(each.exc_info) for each in caplog.records] == [True, False, False, False]
    followed.consumer = followed.made[1]
    followed.send(Message("instance/one", None, offset=5))
    assert followed.follower.state.instances == {}
    followed.follower.close()


def test_a_follower_that_waits_to_try_again_is_closed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_follower, "_AGAIN_S", (600.0,))
    followed = Followed(monkeypatch)
    followed.consumer.send(OSError("x"))
    assert happens(lambda: followed.consumer.is_closed, PATIENCE_S)
    began = time.monotonic()
    followed.follower.close()
    assert time.monotonic() - began < log_follower._CLOSE_S


def test_a_record_that_cannot_be_read_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else one instance of another version would make all others blind for each other."""
    followed = Followed(monkeypatch)
    with caplog.at_level(logging.WARNING, logger=log_follower.__name__):
        followed.send(Message("cut", b"{}"), Message("instance/one", ONE.to_json()))
    assert followed.follower.state.instances == {"one": ONE}
    assert "'cut'" in caplog.text
    followed.follower.close()
