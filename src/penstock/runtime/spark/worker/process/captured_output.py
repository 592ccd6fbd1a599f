"""Collect what the program prints and logs in this process, until the driver asks for it."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Literal

from penstock.runtime.spark.exchange.worker_lines import Line, LoggedLine, PrintedLine

#: Lines that wait for the driver; more of them go to the executor's standard error.
MOST_LINES = 1_000
_MOST_CHARACTERS = 10_000


class CapturedOutput:
    """The lines of this process that have not been sent yet; at most ``MOST_LINES`` of them."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._left_out = 0
        self._lock = threading.Lock()

    def add(self, line: Line) -> None:
        with self._lock:
            if len(self._lines) < MOST_LINES:
                self._lines.append(line)
                return
            self._left_out += 1
        _to_own_stderr(line)

    def take(self) -> list[Line]:
        """Return all lines, and forget them; the last one says how many were left out."""
        with self._lock:
            taken, self._lines = self._lines, []
            left_out, self._left_out = self._left_out, 0
        if left_out:
            note = f"… {left_out:,} more lines are in the executor's standard error"
            taken.append(PrintedLine("err", note))
        return taken

    def give_up(self) -> None:
        """Write the lines that were not sent to the executor's standard error: the process ends."""
        for line in self.take():
            _to_own_stderr(line)


#: The lines of this process.
CAPTURED = CapturedOutput()


class _Lines(io.TextIOBase):
    """A standard output that cuts what is written to it into lines, for each thread."""

    encoding = "utf-8"

    def __init__(self, stream: Literal["out", "err"]) -> None:
        self._stream = stream
        self._begun = threading.local()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, rest = (getattr(self._begun, "text", "") + text).split("\n")
        self._begun.text = rest
        for line in whole:
            CAPTURED.add(PrintedLine(self._stream, line[:_MOST_CHARACTERS]))
        return len(text)


class _Handler(logging.Handler):
    """The handler of the root logger in a worker."""

    def emit(self, record: logging.LogRecord) -> None:
        line = LoggedLine(
            record.name, record.levelno, self.format(record)[:_MOST_CHARACTERS], record.created,
            record.pathname, record.lineno, record.funcName,
        )  # fmt: skip
        CAPTURED.add(line)


@contextlib.contextmanager
def captured_output() -> Iterator[None]:
    """Collect what this process prints and logs inside the ``with`` block."""
    handler, former = _Handler(), (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = _Lines("out"), _Lines("err")
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        sys.stdout, sys.stderr = former
        CAPTURED.give_up()


def _to_own_stderr(line: Line) -> None:
    own = sys.__stderr__
    if own is not None:
        text = line.text if isinstance(line, PrintedLine) else f"{line.logger}: {line.message}"
        print(text, file=own, flush=True)
