"""Lanes begin batches when they like, wait only a moment, and can all be brought to a stop."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from penstock.runtime.spark.driver.lanes import gate as module
from penstock.runtime.spark.driver.lanes.gate import Gate, Turn

LONG_S = 30.0


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.end()


def always(turn: Turn) -> float:
    return 0.0


def only_drains(turn: Turn) -> float:
    return 0.0 if turn is Turn.DRAIN else math.inf


def only_new(turn: Turn) -> float:
    return 0.0 if turn is Turn.ANY else math.inf


class Begun:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[..., Any], *given: Any) -> None:
        self.result: Any = "none yet"
        self._thread = threading.Thread(target=self._run, args=(call, given), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[..., Any], given: tuple[Any, ...]) -> None:
        self.result = call(*given)

    @property
    def is_waiting(self) -> bool:
        """Whether it has not returned after a moment."""
        self._thread.join(0.02)
        return self._thread.is_alive()

    def returned(self) -> Any:
        self._thread.join(LONG_S)
        assert not self._thread.is_alive()
        return self.result


class Block(Begun):
    """A ``with`` block of another thread, which stays inside until it is told to leave."""

    def __init__(self, manager: AbstractContextManager[bool]) -> None:
        self.is_inside, self._may_leave = threading.Event(), threading.Event()
        self.yielded: bool | None = None
        super().__init__(self._stay, manager)

    def _stay(self, manager: AbstractContextManager[bool]) -> None:
        with manager as self.yielded:
            self.is_inside.set()
            assert self._may_leave.wait(LONG_S)

    def entered(self) -> bool | None:
        assert self.is_inside.wait(LONG_S)
        return self.yielded

    def leave(self) -> None:
        self._may_leave.set()
        self.returned()


def until(is_true: Callable[[], bool]) -> None:
    """Wait until another thread has come so far."""
    deadline = time.monotonic() + LONG_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@contextmanager
def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[None]:
    with monkeypatch.context() as patches:
        patches.setattr(module, "_PATIENCE_S", seconds)
        yield


# Turns


def test_lanes_begin_at_the_same_time(gate: Gate) -> None:
    """None waits until another one has ended."""
    assert [gate.wait_turn(lane, always) for lane in range(3)] == [Turn.ANY] * 3
    assert not gate.is_quiet
    for lane in range(3):
        assert not gate.is_quiet
        gate.end_turn(lane)
    assert gate.is_quiet


def test_a_lane_waits_until_it_is_due(gate: Gate) -> None:
    due_at = time.monotonic() + 0.02
    assert gate.wait_turn(0, lambda turn: due_at - time.monotonic()) is Turn.ANY
    assert time.monotonic() >= due_at


def test_a_lane_that_has_something_to_do_before_its_time_is_woken(gate: Gate) -> None:
    """Records of another lane arrive for it."""
    due_s = [math.inf]
    waiting = Begun(gate.wait_turn, 0, lambda turn: due_s[0])
    assert waiting.is_waiting
    due_s[0] = 0.0
    gate.notify()
    assert waiting.returned() is Turn.ANY


def test_a_lane_that_is_never_due_again_gets_no_turn(gate: Gate) -> None:
    assert gate.wait_turn(0, lambda turn: None) is None
    assert gate.is_quiet


def test_the_end_wakes_everybody(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.wait_turn(0, always)
    with patience(monkeypatch, LONG_S):
        waiting = [
            Begun(gate.wait_turn, 1, lambda turn: math.inf),
            Begun(gate.enter, 2, 1, 0.0),
            Begun(gate.finish, LONG_S),
        ]
        assert all(each.is_waiting for each in waiting)
        gate.end()
        assert [each.returned() for each in waiting] == [None, None, True]
    assert gate.wait_turn(1, always) is None


# Stages


@pytest.mark.parametrize("ends", [True, False])
def test_a_lane_waits_for_others_in_an_earlier_stage(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """It sees the records of all of them together, in order of time."""
    with patience(monkeypatch, LONG_S):
        for lane in (0, 1):
            gate.wait_turn(lane, always)
        entering = Begun(gate.enter, 0, 1, 0.0)
        assert entering.is_waiting
        if ends:
            gate.end_turn(1)
        else:
            gate.enter(1, 1, 0.0)
        entering.returned()


def test_a_lane_that_hangs_is_waited_for_only_a_moment(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with patience(monkeypatch, 0.03):
        began = time.monotonic()
        for lane in (0, 1):
            gate.wait_turn(lane, always)
        Begun(gate.enter, 0, 1, 0.0).returned()
        assert time.monotonic() - began >= 0.03
        # By now it has been there for longer than anybody waits.
        monkeypatch.setattr(gate.changed, "wait", pytest.fail)
        gate.enter(0, 2, 0.0)
        gate.enter(0, 1, 0.0)


def test_a_lane_whose_stages_take_long_waits_longer_for_others(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theirs take about as long: a batch of a backlog takes seconds."""
    with patience(monkeypatch, 0.0):
        gate.wait_turn(1, always)
        began = time.monotonic()
        Begun(gate.enter, 0, 1, 0.1).returned()
        assert time.monotonic() - began >= 0.045


def test_lanes_in_later_stages_hold_up_nobody(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    with patience(monkeypatch, LONG_S):
        gate.enter(1, 2, 0.0)
        monkeypatch.setattr(gate.changed, "wait", pytest.fail)
        gate.enter(0, 0, 0.0)
        gate.enter(0, 1, 0.0)


# Closed


def test_a_closed_gate_waits_for_the_end_of_all_batches(gate: Gate) -> None:
    for lane in (0, 1):
        gate.wait_turn(lane, always)
    block = Block(gate.closed(LONG_S, drains=False))
    assert block.is_waiting
    gate.end_turn(0)
    assert not block.is_inside.wait(0.01)
    gate.end_turn(1)
    assert block.entered()
    block.leave()


def test_nobody_begins_while_the_gate_is_closed(gate: Gate) -> None:
    """Afterwards they go on at once."""
    with gate.closed(LONG_S, drains=False) as is_quiet:
        assert is_quiet
        waiting = Begun(gate.wait_turn, 0, always)
        assert waiting.is_waiting
    assert waiting.returned() is Turn.ANY


def test_a_lane_that_does_not_end_its_batch_keeps_nobody_else(gate: Gate) -> None:
    """It is tried again later; until then the others go on."""
    gate.wait_turn(0, always)
    with gate.closed(0.01, drains=False) as is_quiet:
        assert not is_quiet
        waiting = Begun(gate.wait_turn, 1, always)
        assert waiting.is_waiting
    assert waiting.returned() is Turn.ANY


def test_lanes_drain_before_the_gate_is_closed(gate: Gate) -> None:
    """They read no source, and process what they have sent to each other."""
    leftover = [2]
    gate.has_leftover = lambda: leftover[0] > 0
    block = Block(gate.closed(LONG_S, drains=True))
    until(lambda: gate._is_closed)
    reader = Begun(gate.wait_turn, 1, only_new)
    for _ in range(2):
        assert gate.wait_turn(0, only_drains) is Turn.DRAIN
        leftover[0] -= 1
        assert not block.is_inside.is_set()
        gate.end_turn(0)
    assert block.entered()
    drain = Begun(gate.wait_turn, 0, only_drains)
    assert drain.is_waiting
    assert reader.is_waiting
    block.leave()
    assert reader.returned() is Turn.ANY


def test_what_cannot_be_drained_in_time_is_told(gate: Gate) -> None:
    """A task that is set aside has records that nobody processes now."""
    gate.has_leftover = lambda: True
    with gate.closed(0.01, drains=True) as is_quiet:
        assert not is_quiet
    with gate.closed(LONG_S, drains=False) as is_quiet:
        assert is_quiet


def test_two_hold_the_gate_one_after_the_other(gate: Gate) -> None:
    """A query for one state of all stores, and a cut, or slots that change."""
    first = Block(gate.closed(LONG_S, drains=False))
    assert first.entered()
    with gate.closed(0.01, drains=False) as is_quiet:
        assert not is_quiet
    # The gate is still closed for the first one.
    is_over = threading.Event()
    waiting = Begun(gate.wait_turn, 0, lambda turn: None if is_over.is_set() else 0.0)
    second = Block(gate.closed(LONG_S, drains=False))
    assert waiting.is_waiting
    assert not second.is_inside.wait(0.01)
    is_over.set()
    gate.notify()
    assert waiting.returned() is None
    first.leave()
    assert second.entered()
    second.leave()


# One lane


def test_a_parked_lane_begins_nothing_while_others_go_on(gate: Gate) -> None:
    """Its slot moves to another thread."""
    with gate.parked(0, LONG_S) as is_idle:
        assert is_idle
        waiting = Begun(gate.wait_turn, 0, always)
        assert waiting.is_waiting
        assert gate.wait_turn(1, always) is Turn.ANY
    assert waiting.returned() is Turn.ANY


def test_a_lane_is_parked_after_its_batch(gate: Gate) -> None:
    gate.wait_turn(0, always)
    block = Block(gate.parked(0, LONG_S))
    assert block.is_waiting
    gate.end_turn(0)
    assert block.entered()
    block.leave()


def test_a_lane_that_does_not_end_its_batch_is_not_parked(gate: Gate) -> None:
    gate.wait_turn(0, always)
    with gate.parked(0, 0.01) as is_idle:
        assert not is_idle
    gate.end_turn(0)
    assert gate.wait_turn(0, always) is Turn.ANY


# The end


def test_lanes_that_finish_end_what_they_have_begun_and_read_nothing_new(gate: Gate) -> None:
    """Records that are on their way are processed; the rest is for the next driver."""
    leftover = [1]
    gate.has_leftover = lambda: leftover[0] > 0
    gate.wait_turn(0, always)
    finishing = Begun(gate.finish, LONG_S)
    until(lambda: gate._finishes)
    gate.end_turn(0)
    reader = Begun(gate.wait_turn, 1, only_new)
    assert gate.wait_turn(0, always) is Turn.DRAIN
    leftover[0] = 0
    assert finishing.is_waiting
    gate.end_turn(0)
    assert finishing.returned() is True
    assert reader.is_waiting


def test_a_lane_that_hangs_does_not_keep_the_application_from_its_end(gate: Gate) -> None:
    gate.wait_turn(0, always)
    assert not gate.finish(0.01)


def test_the_one_who_holds_the_gate_does_not_keep_the_application_from_its_end(
    gate: Gate,
) -> None:
    """No batch is under way; what is on its way waits for the next driver."""
    gate.has_leftover = lambda: True
    block = Block(gate.closed(0.0, drains=True))
    block.entered()
    assert gate.finish(LONG_S)
    block.leave()
