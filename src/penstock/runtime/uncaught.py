"""What the uncaught exception handler answers, and how user code ends the process.

Handlers and listeners are called in the thread that runs the batches. ``sys.exit()`` in such a
thread ends only the thread: the process would neither work nor end.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from penstock.errors import InvalidArgumentError
from penstock.runtime.states import ExceptionResponse

log = logging.getLogger(__name__)

#: Called with the error of a batch; returns what to do about it, as an enum or as its text.
UncaughtHandler = Callable[[Exception], "ExceptionResponse | str | None"]

#: How long the main thread may take to raise the exit, before the process is ended without it.
_RAISED_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be done, and the error that the application ends with if it ends."""

    response: ExceptionResponse
    error: Exception


class Uncaught:
    """Asks the user's handler about errors, and lets user code end the process.

    If the main thread waits for the application, it raises the exit there, so that ``with`` and
    ``finally`` blocks run. If not, the process is ended as Java's ``System.exit`` does it: exit
    functions run, threads do not end themselves.
    """

    def __init__(self) -> None:
        self.handler: UncaughtHandler = lambda error: ExceptionResponse.SHUTDOWN_CLIENT
        self._request: SystemExit | None = None
        self._is_raised = threading.Event()
        self._attends = 0

    def ask(self, error: Exception, *, is_closing: Callable[[], bool]) -> Answer:
        """Ask the handler what to do about an error.

        An answer that is not known ends the application with ``bad-handler-response``.

        Args:
            is_closing: Whether the handler has closed the application; it needs no answer then.
        """
        try:
            answer = self.handler(error)
        except Exception:
            log.exception("the uncaught exception handler failed; shutting down")
            return Answer(ExceptionResponse.SHUTDOWN_CLIENT, error)
        if answer is None and is_closing():
            return Answer(ExceptionResponse.SHUTDOWN_CLIENT, error)
        known = {each.name: each for each in ExceptionResponse}
        name = answer.name if isinstance(answer, ExceptionResponse) else str(answer).upper()
        if name in known:
            return Answer(known[name], error)
        unknown = InvalidArgumentError(
            "bad-handler-response",
            f"the uncaught exception handler returned {answer!r} for the error: {error}",
            fix=f"return one of {', '.join(known)}, as text or as a member of ExceptionResponse",
        )
        unknown.__cause__ = error
        return Answer(ExceptionResponse.SHUTDOWN_CLIENT, unknown)

    @contextmanager
    def attended(self) -> Iterator[None]:
        """Mark that the calling thread waits for the application, and raise the exit at the end."""
        counts = threading.current_thread() is threading.main_thread()
        self._attends += counts
        try:
            yield
        finally:
            self._attends -= counts
        if counts:
            self.raise_wanted()

    def raise_wanted(self) -> None:
        """Raise the exit that user code has asked for, if it has."""
        if self._request is not None:
            self._is_raised.set()
            raise self._request

    def end_process(self, request: SystemExit, tear_down: Callable[[], None]) -> None:
        """End the process with the status of the request, after the application has ended."""
        self._request = request
        is_attended = self._attends > 0
        # A listener that exits again is told nothing new.
        with suppress(SystemExit):
            tear_down()
        if not (is_attended and self._is_raised.wait(_RAISED_S)):
            _exit(request)


def _exit(request: SystemExit) -> None:
    if isinstance(request.code, str):
        print(request.code, file=sys.stderr)
    code = request.code if isinstance(request.code, int) else 0 if request.code is None else 1
    log.info("a handler or listener ends the process with status %d", code)
    atexit._run_exitfuncs()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
