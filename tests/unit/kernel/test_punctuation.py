"""Callbacks on a schedule, without any clock."""

import pytest

from penstock.kernel.punctuation import PunctuationQueue, Schedule
from penstock.processor.context import Punctuator


class Recorder:
    """A queue with the history of what it ran."""

    def __init__(self) -> None:
        self.queue = PunctuationQueue()
        self.runs: list[tuple[str, int]] = []

    def add(self, node: str, first: int, interval_ms: int) -> Schedule:
        return self.queue.schedule(node, first, interval_ms, lambda time: None)

    def run(self, now: int) -> list[tuple[str, int]]:
        seen = len(self.runs)
        assert self.queue.run_due(now, self._punctuate) is (len(self.runs) > seen)
        return self.runs[seen:]

    def _punctuate(self, node: str, time: int, callback: Punctuator) -> None:
        self.runs.append((node, time))
        callback(time)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_a_stream_time_schedule_fires_with_the_first_record(recorder: Recorder) -> None:
    """It starts at 0, whatever its interval, and is told the record's time."""
    recorder.add("n", 0, 100)
    assert recorder.run(42) == [("n", 42)]


def test_it_fires_again_on_the_grid_of_its_start_not_of_its_runs(recorder: Recorder) -> None:
    """After 42 on a grid of 100 comes 100, not 142; equality is due."""
    recorder.add("n", 0, 100)
    recorder.run(42)
    assert recorder.run(99) == []
    assert recorder.run(100) == [("n", 100)]
    assert recorder.run(100) == []


def test_missed_intervals_fire_once(recorder: Recorder) -> None:
    """There is no catching up, for either clock."""
    recorder.add("n", 10, 10)
    assert recorder.run(55) == [("n", 55)]
    assert recorder.run(59) == []
    assert recorder.run(60) == [("n", 60)]


def test_a_cancelled_schedule_stays_silent(recorder: Recorder) -> None:
    """Cancelling twice is harmless, and a run that finds only cancelled schedules is no run."""
    schedule = recorder.add("n", 0, 10)
    schedule.cancel()
    schedule.cancel()
    assert recorder.run(100) == []


def test_a_callback_may_cancel_itself(recorder: Recorder) -> None:
    """Cancelling inside the callback stops the next one, also much later."""
    schedule = recorder.queue.schedule("n", 0, 10, lambda time: schedule.cancel())
    assert recorder.run(5) == [("n", 5)]
    assert recorder.run(50) == []


def test_a_callback_may_cancel_another_that_is_due_too(recorder: Recorder) -> None:
    """What was cancelled before its turn does not run, although both were due."""
    recorder.queue.schedule("first", 0, 10, lambda time: second.cancel())
    second = recorder.add("second", 5, 10)
    assert recorder.run(5) == [("first", 5)]


def test_a_callback_may_schedule_what_is_due_at_once(recorder: Recorder) -> None:
    """A stream-time schedule made in a callback starts at 0 as well: it runs in the same round."""
    recorder.queue.schedule("a", 0, 1_000, lambda time: recorder.add("b", 0, 1_000) and None)
    assert recorder.run(7) == [("a", 7), ("b", 7)]


def test_due_schedules_run_in_order_of_time_then_as_in_java(recorder: Recorder) -> None:
    """Java's heap decides among equals, which is neither the order of adding nor ``heapq``'s."""
    for node in ("a", "b", "c", "d"):
        recorder.add(node, 0, 10)
    recorder.add("early", -5, 100)
    assert [node for node, _ in recorder.run(3)] == ["early", "b", "a", "d", "c"]


def test_the_next_time_is_that_of_the_first_live_schedule(recorder: Recorder) -> None:
    """A driver may sleep until then."""
    assert recorder.queue.next_time() is None
    cancelled = recorder.add("a", 5, 10)
    recorder.add("b", 9, 10)
    cancelled.cancel()
    assert recorder.queue.next_time() == 9


def test_an_anchored_schedule_takes_a_noted_time_only_from_its_own_grid() -> None:
    """A new start time is a new schedule; what an earlier one noted does not move it."""
    for noted, due in ((135, 135), (140, 105)):
        queue = PunctuationQueue()
        queue.schedule("n", 105, 10, lambda time: None, is_anchored=True)
        queue.set_times([("n", noted)])
        assert queue.times() == [("n", due)]


def test_an_anchored_schedule_stays_cancelled() -> None:
    """A cancelled schedule has no time, on whatever grid."""
    queue = PunctuationQueue()
    queue.schedule("n", 105, 10, lambda time: None, is_anchored=True)
    queue.set_times([("n", -1)])
    assert queue.next_time() is None
