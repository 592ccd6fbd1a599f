"""Stages of an application: each slot is asked by itself, and a lost thread is given up."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.threads import stages as module
from penstock.runtime.spark.driver.threads.stages import Stages
from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting
from penstock.runtime.spark.exchange.questions import RunStage, SlotId, WarmUp
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest

LOST = ThreadLostError("worker-lost", "gone")


def thread(slot: int) -> Endpoint:
    return Endpoint(f"thread-{slot}", "host", slot, "1")


class Slots:
    """The slots of an application, each in a thread: a function says what they answer."""

    def __init__(self) -> None:
        self.answer: Callable[[int, Waiting], Any] = lambda slot, waiting: [f"report {slot}"]
        self.asked: list[tuple[Endpoint, Any]] = []
        self.given_up: list[str] = []
        self.secluded: list[int] = []
        self.endpoints: dict[int, Endpoint] = {}
        #: Slots for which there is no thread.
        self.missing: set[int] = set()
        self.ensured: list[tuple[int, Any, Any]] = []
        self.threads = SimpleNamespace(secret=b"secret", give_up=self.given_up.append)
        self.is_closed = False

    # The placement

    def ensure_one(self, slot: int, is_over: threading.Event, look: Callable[[], None]) -> None:
        self.ensured.append((slot, is_over, look))
        if slot not in self.missing:
            self.endpoints[slot] = thread(slot)

    def seclude(self, slot: int) -> None:
        self.secluded.append(slot)

    # The connections

    def ask(self, endpoint: Endpoint, question: Any, waiting: Waiting) -> Any:
        self.asked.append((endpoint, question))
        answer = self.answer(question.slot.number, waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.is_closed = True


def look() -> None: ...


@pytest.fixture
def slots() -> Slots:
    return Slots()


@pytest.fixture
def made(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stages]]:
    monkeypatch.setattr(module, "packed", lambda application: b"packed")
    monkeypatch.setattr(module, "KeptConnections", lambda secret: slots)
    stages: list[Stages] = []

    def make(*, shares: bool = False) -> Stages:
        application = cast("Any", SimpleNamespace(key="app-1-x"))
        stages.append(Stages(application, cast("Any", slots), look, shares=shares))
        return stages[-1]

    yield make
    for each in stages:
        each.close()


REQUEST = StageRequest(batch=1, stage=0, slots=3, clock_ms=0)


def failure(stages: Stages, slot: int) -> BaseException:
    with pytest.raises(Exception, match=r".*") as raised:
        stages.run(slot, REQUEST)
    return raised.value


def test_a_slot_is_asked_where_it_is(slots: Slots, made: Callable[..., Stages]) -> None:
    """And only that one: the others run batches of their own."""
    assert made().run(2, REQUEST) == ["report 2"]
    assert slots.asked == [(thread(2), RunStage(SlotId("app-1-x", 2), REQUEST))]
    assert [(each[0], each[2]) for each in slots.ensured] == [(2, look)]


def test_a_slot_is_warmed_up_where_it_is(slots: Slots, made: Callable[..., Stages]) -> None:
    """A warm-up has no reports."""
    slots.answer = lambda slot, waiting: None
    made().warm_up(1, REQUEST)
    assert slots.asked == [(thread(1), WarmUp(SlotId("app-1-x", 1), REQUEST))]


def test_slots_are_asked_beside_each_other(slots: Slots, made: Callable[..., Stages]) -> None:
    """One that takes long holds up nobody."""
    together = threading.Barrier(5)

    def meet(slot: int, waiting: Waiting) -> list[str]:
        together.wait(30)
        return []

    slots.answer = meet
    stages = made()
    lanes = [threading.Thread(target=stages.run, args=(n, REQUEST)) for n in range(5)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(30)
    assert len(slots.asked) == 5


def test_the_application_is_sent_to_threads_that_ask_for_it(
    slots: Slots, made: Callable[..., Stages]
) -> None:
    sent: list[bytes] = []

    def asks(slot: int, waiting: Waiting) -> list[str]:
        assert waiting.load is not None
        sent.append(waiting.load())
        return []

    slots.answer = asks
    stages = made()
    stages.run(0, REQUEST)
    assert sent == [stages.pickled] == [b"packed"]


def test_a_lost_thread_is_given_up(slots: Slots, made: Callable[..., Stages]) -> None:
    """Spark starts another one; the driver decides what the error means."""
    slots.answer = lambda slot, waiting: LOST if slot == 1 else []
    stages = made()
    assert stages.run(0, REQUEST) == []
    assert failure(stages, 1) is LOST
    assert slots.given_up == ["thread-1"]


@pytest.mark.parametrize("error", [StreamsError("processing", "no"), ZeroDivisionError("x")])
def test_an_error_of_a_slot_does_not_end_its_thread(
    slots: Slots, made: Callable[..., Stages], error: Exception
) -> None:
    """The thread is well, and has its state in memory."""
    slots.answer = lambda slot, waiting: error
    assert failure(made(), 0) is error
    assert slots.given_up == []


def test_a_slot_without_a_thread_lets_its_batch_run_again(
    slots: Slots, made: Callable[..., Stages]
) -> None:
    """Its thread may have ended right after it was found."""
    slots.missing = {0}
    stages = made()
    error = failure(stages, 0)
    assert isinstance(error, StreamsError)
    assert error.code == "slot-unreachable"
    assert stages.run(1, REQUEST) == ["report 1"]
    assert [endpoint for endpoint, _ in slots.asked] == [thread(1)]


def test_a_stage_that_is_given_up_ends_no_thread(slots: Slots, made: Callable[..., Stages]) -> None:
    """Its threads are well; only the driver does not wait any more."""
    is_asked = threading.Event()

    def waits(slot: int, waiting: Waiting) -> Exception:
        is_asked.set()
        assert waiting.is_over is not None
        assert waiting.is_over.wait(30)
        return LOST

    slots.answer = waits
    stages = made()
    found: list[BaseException] = []
    running = threading.Thread(target=lambda: found.append(failure(stages, 0)))
    running.start()
    assert is_asked.wait(30)
    stages.cancel()
    running.join(30)
    assert found == [LOST]
    assert slots.given_up == []
    # Nor does it wait for threads that are missing.
    assert slots.ensured[0][1].is_set()


def test_a_slot_that_ends_its_shared_threads_gets_one_of_its_own(
    slots: Slots, made: Callable[..., Stages]
) -> None:
    """It may be the reason; after two losses in a row it cannot harm the others any more."""
    stages = made(shares=True)
    losses: list[set[int]] = [{0}, set(), {0, 1}, {0}, {0}]
    secluded = []
    for lost in losses:
        slots.answer = lambda slot, waiting, lost=lost: LOST if slot in lost else []  # type: ignore[misc]
        for slot in (0, 1):
            with contextlib.suppress(ThreadLostError):
                stages.run(slot, REQUEST)
        secluded.append(list(slots.secluded))
    assert secluded == [[], [], [], [0], [0]]


def test_a_slot_that_shares_with_nobody_stays_where_it_is(
    slots: Slots, made: Callable[..., Stages]
) -> None:
    slots.answer = lambda slot, waiting: LOST
    stages = made()
    for _ in range(4):
        assert failure(stages, 0) is LOST
    assert slots.secluded == []


def test_the_end_closes_the_connections(slots: Slots, made: Callable[..., Stages]) -> None:
    made().close()
    assert slots.is_closed
