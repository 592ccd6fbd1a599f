"""What the driver shows of the lines that workers printed and logged."""

import logging

import pytest

from penstock.runtime.spark.exchange.worker_lines import (
    OUTPUT,
    LoggedLine,
    PrintedLine,
    log_levels,
    show_lines,
    use_log_levels,
)


def logged(level: int, name: str = "shop.orders") -> LoggedLine:
    return LoggedLine(name, level, "no price", 1_700_000_000.25, "/app/shop.py", 7, "price")


def test_printed_lines_go_where_the_program_sent_them(capsys: pytest.CaptureFixture[str]) -> None:
    show_lines([PrintedLine("out", "a"), PrintedLine("err", "b"), PrintedLine("out", "c")])
    assert capsys.readouterr() == ("a\nc\n", "b\n")


def test_printed_lines_leave_standard_output_to_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that reads the lines of ``penstock run --json`` meets nothing else there."""
    monkeypatch.setattr(OUTPUT, "uses_stderr", True)
    show_lines([PrintedLine("out", "a")])
    assert capsys.readouterr() == ("", "a\n")


def test_logged_lines_pass_the_handlers_of_the_driver(caplog: pytest.LogCaptureFixture) -> None:
    """Format, filters and files are those that the program has set up."""
    with caplog.at_level(logging.INFO):
        show_lines([logged(logging.DEBUG), logged(logging.WARNING)])
    (record,) = caplog.records
    assert (record.name, record.getMessage(), record.lineno) == ("shop.orders", "no price", 7)
    assert (record.funcName, record.created, record.msecs) == ("price", 1_700_000_000.25, 250.0)


def test_workers_log_what_the_driver_would_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "shop.prices"):
        levels = log_levels()
    assert levels["shop.prices"] == logging.DEBUG
    assert levels[""] == logging.getLogger().level
    other = logging.getLogger("shop.other")
    use_log_levels({"shop.other": logging.ERROR})
    assert other.level == logging.ERROR
    other.setLevel(logging.NOTSET)
