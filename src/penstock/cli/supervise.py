"""Runs an application in front of somebody: start, look on, stop on a signal or when idle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from penstock.cli.quiet import JavaLog
from penstock.runtime.states import State

_DRAW_EVERY_S = 0.2
Look = TypeVar("Look")
Look_co = TypeVar("Look_co", covariant=True)
Look_contra = TypeVar("Look_contra", contravariant=True)


class Watching(Protocol[Look_co]):
    """Looks on for the length of a block; ``latest`` is the last look."""

    def __enter__(self) -> object: ...
    def __exit__(self, *exc: object) -> None: ...
    @property
    def latest(self) -> Look_co: ...


class Showing(Protocol[Look_contra]):
    """Shows looks to somebody."""

    def show(self, snapshot: Look_contra) -> None: ...


class Runnable(Protocol):
    """As much of ``KafkaStreams`` as running it takes."""

    @property
    def state(self) -> State: ...
    @property
    def error(self) -> Exception | None: ...
    def start(self) -> None: ...
    def close(self) -> bool: ...


class Work:
    """A call in a thread of its own, so that somebody can look on meanwhile."""

    def __init__(self, call: Callable[[], Any], name: str) -> None:
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Waits for the end and raises what the call raised."""
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self._call()
        # It is raised again where somebody can answer it.
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
    """Runs until it ends, until ``until`` holds, or until Ctrl-C or SIGTERM; then closes it.

    Raises:
        PenstockError: what kept it from starting, or what it ended with.
    """

    def start() -> None:
        # The Java process is started in here, and keeps the standard error that it finds.
        with log.taking_stderr():
            streams.start()

    with _stop_on_signals() as stop, watch:
        starting = Work(start, "penstock-start")
        _look_on(watch, view, lambda: starting.is_done)
        starting.wait()
        _look_on(
            watch,
            view,
            lambda: stop.is_set() or streams.state.has_ended or until(watch.latest),
        )
        closing = Work(streams.close, "penstock-close")
        _look_on(watch, view, lambda: closing.is_done)
        closing.wait()
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
    """Sets the event at the first Ctrl-C or SIGTERM; a second Ctrl-C interrupts at once."""
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
