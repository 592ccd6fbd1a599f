"""An application in the foreground: how long it runs, who ends it, and which error is raised."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.cli import supervise
from penstock.cli.supervise import Work, run_watched
from penstock.errors import StreamsError
from penstock.runtime.states import State


class Application:
    """Runs until it is closed, or fails where it is told to."""

    def __init__(self, *, start: Exception | None = None, end: Exception | None = None) -> None:
        self.state = State.CREATED
        self.error: Exception | None = None
        self._start, self._end = start, end
        self.is_closed = False

    def start(self) -> None:
        if self._start is not None:
            raise self._start
        self.state, self.error = (State.ERROR, self._end) if self._end else (State.RUNNING, None)

    def close(self) -> bool:
        self.is_closed = True
        return True


class Looks:
    """Watch and view in one: every look is a number, and ``then`` is told of it."""

    def __init__(self, then: Callable[[int], None] = lambda look: None) -> None:
        self.latest = 0
        self.is_open = False
        self._then = then

    def __enter__(self) -> Looks:
        self.is_open = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.is_open = False

    def show(self, snapshot: int) -> None:
        self.latest += 1
        self._then(snapshot)


class Log:
    def taking_stderr(self) -> Any:
        return contextlib.nullcontext()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "_DRAW_EVERY_S", 0.001)


def run(application: Application, looks: Looks, **options: Any) -> None:
    log: Any = Log()
    run_watched(application, looks, looks, log, **options)


def test_it_runs_until_the_look_says_so_and_is_closed() -> None:
    """The watch is over after the run."""
    application, looks = Application(), Looks()
    run(application, looks, until=lambda look: look > 5)
    assert application.is_closed
    assert looks.latest > 5
    assert not looks.is_open


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_closes_it_in_good_order(number: signal.Signals) -> None:
    """Handlers that were there before are there again."""
    before = signal.getsignal(number)

    def kill(look: int) -> None:
        if look == 5:
            os.kill(os.getpid(), number)

    application = Application()
    run(application, Looks(kill))
    assert application.is_closed
    assert signal.getsignal(number) is before


def test_a_signal_ends_a_start_that_waits() -> None:
    """A broker that does not answer would otherwise hold Ctrl-C up until the start gives up."""
    closed = threading.Event()

    class Waiting(Application):
        def start(self) -> None:
            assert closed.wait(30)

        def close(self) -> bool:
            closed.set()
            return super().close()

    application = Waiting()
    run(application, Looks(lambda look: os.kill(os.getpid(), signal.SIGINT) if look == 5 else None))
    assert application.is_closed


def test_an_application_that_does_not_start_is_not_closed() -> None:
    """Its own error is raised, from the thread in which it was started."""
    application = Application(start=StreamsError("no-broker", "nobody answers"))
    with pytest.raises(StreamsError, match="nobody answers"):
        run(application, Looks())
    assert not application.is_closed


def test_the_error_with_which_it_ended_is_raised_after_it_was_closed() -> None:
    """Nobody has to wait for ``until`` then."""
    application = Application(end=StreamsError("broken", "the disk is full"))
    with pytest.raises(StreamsError, match="the disk is full"):
        run(application, Looks())
    assert application.is_closed


def test_work_goes_on_beside_the_caller_and_hands_over_its_error() -> None:
    """``is_done`` is asked while it runs."""
    go = threading.Event()

    def work() -> None:
        go.wait(30)
        raise KeyError("lost")

    working = Work(work, "test")
    assert not working.is_done
    go.set()
    with pytest.raises(KeyError, match="lost"):
        working.wait()
    assert working.is_done
