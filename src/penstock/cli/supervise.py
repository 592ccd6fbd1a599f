"""Run an application and show its progress until it ends, a signal arrives, or it is idle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from penstock.cli.quiet import JavaLog, follow_stderr
from penstock.runtime.states import State

_DRAW_EVERY_S = 0.2
#: How long a stopped start is waited for. Its parts end by themselves sooner, as far as they can.
_START_ENDS_S = 15.0
Look = TypeVar("Look")
Look_co = TypeVar("Look_co", covariant=True)
Look_contra = TypeVar("Look_contra", contravariant=True)


class Watching(Protocol[Look_co]):
    """Take snapshots inside a ``with`` block; ``latest`` is the newest one."""

    def __enter__(self) -> object: ...
    def __exit__(self, *exc: object) -> None: ...
    @property
    def latest(self) -> Look_co: ...


class Showing(Protocol[Look_contra]):
    """Show each snapshot to the user, for example in a terminal."""

    def show(self, snapshot: Look_contra) -> None: ...


class Runnable(Protocol):
    """The part of ``KafkaStreams`` that is needed to run it."""

    @property
    def state(self) -> State: ...
    @property
    def error(self) -> Exception | None: ...
    def start(self) -> None: ...
    def close(self) -> bool: ...


class Work:
    """A call in a thread of its own, so that the main thread can show progress meanwhile."""

    def __init__(self, call: Callable[[], Any], name: str) -> None:
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait for the end of the call, and raise the error that it raised."""
        self._thread.join()
        if self.error is not None:
            raise self.error

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the call, but not for ever, and leave its error alone."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._call()
        # ``wait`` raises it again in the thread of the caller.
        except BaseException as error:  # noqa: BLE001
            self.error = error


def run_watched(
    streams: Runnable,
    watch: Watching[Look],
    view: Showing[Look],
    log: JavaLog,
    *,
    until: Callable[[Look], bool] = lambda snapshot: False,
) -> None:
    """Run an application until it ends, ``until`` is true, or Ctrl-C or SIGTERM; then close it.

    A signal also ends a start that waits, for example for a broker that does not answer.

    Raises:
        PenstockError: the application could not start, or has ended with this error.
    """
    follow_stderr()

    def start() -> None:
        # This starts the Java process, which keeps the standard error that it has at its start.
        with log.taking_stderr():
            streams.start()

    with _stop_on_signals() as stop, watch:
        starting = Work(start, "penstock-start")
        _look_on(watch, view, lambda: stop.is_set() or starting.is_done)
        if starting.is_done:
            starting.wait()
            _look_on(
                watch,
                view,
                lambda: stop.is_set() or streams.state.has_ended or until(watch.latest),
            )
        closing = Work(streams.close, "penstock-close")
        _look_on(watch, view, lambda: closing.is_done)
        closing.wait()
        starting.join(_START_ENDS_S)
    if streams.error is not None:
        raise streams.error


def _look_on(watch: Watching[Look], view: Showing[Look], is_over: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not is_over():
        view.show(watch.latest)
        pause.wait(_DRAW_EVERY_S)
    view.show(watch.latest)


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C or SIGTERM sets; a second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: Any) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    former = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
