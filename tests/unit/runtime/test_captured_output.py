"""What a worker keeps of the program's output until the driver asks for it."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.runtime.spark.exchange.worker_lines import LoggedLine, PrintedLine
from penstock.runtime.spark.worker.process import captured_output as module
from penstock.runtime.spark.worker.process.captured_output import (
    CAPTURED,
    MOST_LINES,
    CapturedOutput,
    captured_output,
)


@contextmanager
def capturing() -> Iterator[CapturedOutput]:
    """Captures the output of this process, as in a worker."""
    with captured_output():
        yield CAPTURED
        CAPTURED.take()


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
    monkeypatch.setattr(module.sys, "__stderr__", sys.stderr)
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


def test_the_process_has_its_own_outputs_back_afterwards(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark gives the same process to other tasks, whose output belongs to Spark."""
    monkeypatch.setattr(module.sys, "__stderr__", sys.stderr)
    root = logging.getLogger()
    before = sys.stdout, sys.stderr, list(root.handlers)
    with captured_output():
        assert sys.stdout is not before[0]
        print("not asked for any more")
    assert (sys.stdout, sys.stderr, list(root.handlers)) == before
    assert capfd.readouterr().err == "not asked for any more\n"
    assert CAPTURED.take() == []


def test_the_outputs_come_back_after_an_error_too() -> None:
    """The next task of the process must not write into a thread that has failed."""
    before = sys.stdout, sys.stderr
    with pytest.raises(ZeroDivisionError), captured_output():
        _ = 1 / 0
    assert (sys.stdout, sys.stderr) == before
