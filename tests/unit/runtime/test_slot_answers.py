"""Questions reach the slot that has the partition; a slot that is being started is waited for."""

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.driver.stores import slot_answers
from penstock.runtime.spark.driver.stores.slot_answers import SlotAnswers
from penstock.runtime.spark.exchange.channel import Waiting
from penstock.runtime.spark.exchange.questions import ReadStore, SlotId


class Slots:
    """Two slots that answer with the given answers, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, ...]] = []
        self.endpoints = {0: "slot-0", 1: "slot-1"}
        monkeypatch.setattr(slot_answers, "time", self)
        self.now = 0.0

    def ask(self, endpoint: str, question: ReadStore, waiting: Waiting) -> Any:
        self.asked.append((endpoint, question))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > 0.35:
            self.endpoints[0] = "slot-0"

    def query(self, partition: int) -> Any:
        runner: Any = SimpleNamespace(
            # Two more begin with the next batch.
            slots=4,
            used_slots=2,
            questions=self,
            application=SimpleNamespace(key="app-1"),
            placement=SimpleNamespace(endpoints=self.endpoints),
        )
        return SlotAnswers(runner).query("counts", partition, "get", ("k",))


def test_a_partition_is_asked_in_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 3 of two slots is in slot 1."""
    slots = Slots(monkeypatch, 42)
    assert slots.query(3) == 42
    question = ReadStore(SlotId("app-1", 1), "counts", 3, "get", ("k",))
    assert slots.asked == [("slot-1", question)]


@pytest.mark.parametrize("code", ["store-not-ready", "slot-unreachable", "worker-lost"])
def test_what_passes_is_waited_for(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """A slot that moves to another executor answers there."""
    slots = Slots(monkeypatch, StreamsError(code, "not now"), 42)
    assert slots.query(0) == 42
    assert slots.now == pytest.approx(0.1)


def test_a_slot_without_a_place_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked before it has one."""
    slots = Slots(monkeypatch, 42)
    del slots.endpoints[0]
    assert slots.query(0) == 42
    assert (len(slots.asked), slots.now) == (1, pytest.approx(0.4))


def test_other_errors_are_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that cannot be answered does not get better by waiting."""
    slots = Slots(monkeypatch, StreamsError("no-such-method", "never"), 42)
    with pytest.raises(PenstockError) as error:
        slots.query(0)
    assert (error.value.code, slots.now) == ("no-such-method", 0.0)


def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten seconds the error of the last attempt is raised."""
    slots = Slots(monkeypatch, *[StreamsError("worker-lost", "gone")] * 200)
    with pytest.raises(StreamsError, match="gone"):
        slots.query(0)
    assert slots.now == pytest.approx(10.1, abs=0.15)
