"""What a worker keeps of the program's output until the driver asks for it."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.runtime.spark.exchange.worker_lines import LoggedLine, PrintedLine
from penstock.runtime.spark.worker import captured_output
from penstock.runtime.spark.worker.captured_output import (
    CAPTURED,
    MOST_LINES,
    CapturedOutput,
    capture_output,
)


@contextmanager
def capturing() -> Iterator[CapturedOutput]:
    """Captures the output of this process, as in a worker."""
    root = logging.getLogger()
    before, streams = list(root.handlers), (sys.stdout, sys.stderr)
    capture_output()
    try:
        yield CAPTURED
    finally:
        CAPTURED.take()
        root.handlers[:] = before
        sys.stdout, sys.stderr = streams


def test_prints_and_logs_are_kept_in_order() -> None:
    with capturing() as captured:
        print("one", 2)
        logging.getLogger("shop").warning("no %s", "price")
        print("three", file=sys.stderr)
        first, second, third = captured.take()
        left = captured.take()
    assert (first, third) == (PrintedLine("out", "one 2"), PrintedLine("err", "three"))
    assert isinstance(second, LoggedLine)
    assert (second.logger, second.level, second.message) == ("shop", logging.WARNING, "no price")
    assert left == []


def test_a_line_is_kept_once_it_has_ended() -> None:
    with capturing() as captured:
        print("a", end="")
        first = captured.take()
        print("b")
        second = captured.take()
    assert (first, second) == ([], [PrintedLine("out", "ab")])


def test_exceptions_are_logged_with_their_traceback() -> None:
    with capturing() as captured:
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            logging.getLogger("shop").exception("no price")
        (line,) = captured.take()
    assert isinstance(line, LoggedLine)
    assert line.message.startswith("no price\nTraceback")


def test_more_than_the_driver_wants_stays_with_the_executor(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that prints every record does not fill the memory of the driver."""
    monkeypatch.setattr(captured_output.sys, "__stderr__", sys.stderr)
    output = CapturedOutput()
    for number in range(MOST_LINES + 5):
        output.add(PrintedLine("out", f"line {number}"))
    *lines, note = output.take()
    assert len(lines) == MOST_LINES
    assert note.text == "… 5 more lines are in the executor's standard error"
    assert capfd.readouterr().err.splitlines()[-1] == f"line {MOST_LINES + 4}"
    output.add(PrintedLine("out", "last words"))
    output.give_up()
    assert capfd.readouterr().err == "last words\n"
