"""What a program prints and logs in a worker, as lines that travel to the driver.

A worker has no terminal: ``worker.process.captured_output`` collects the lines, and the driver
shows them as if the program had run there.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TextIO


class PrintedLine(NamedTuple):
    """A line that the program printed, without its line end."""

    stream: Literal["out", "err"]
    text: str


class LoggedLine(NamedTuple):
    """A record of the program's logging, with its message formatted."""

    logger: str
    level: int
    message: str
    created: float
    path: str
    line: int
    function: str | None


Line = PrintedLine | LoggedLine


class LineOutput:
    """Where printed lines go; ``penstock run --json`` keeps its standard output for JSON."""

    def __init__(self) -> None:
        self.uses_stderr = False

    def stream(self, line: PrintedLine) -> TextIO:
        return sys.stderr if self.uses_stderr or line.stream == "err" else sys.stdout


#: The one place where the lines of this process's workers are shown.
OUTPUT = LineOutput()


def show_lines(lines: Iterable[Line]) -> None:
    """Print and log the lines of a worker here, in the order in which the program made them."""
    for line in lines:
        if isinstance(line, PrintedLine):
            print(line.text, file=OUTPUT.stream(line), flush=True)
        else:
            _log(line)


def log_levels() -> dict[str, int]:
    """Return the level of every logger of this process that has one; "" is the root logger."""
    loggers = logging.getLogger().manager.loggerDict
    found = {
        name: logger.level
        for name, logger in list(loggers.items())
        if isinstance(logger, logging.Logger) and logger.level != logging.NOTSET
    }
    return {"": logging.getLogger().level, **found}


def use_log_levels(levels: Mapping[str, int]) -> None:
    """Log in this process what the driver would log; other records need not travel."""
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


def _log(line: LoggedLine) -> None:
    logger = logging.getLogger(line.logger)
    if not logger.isEnabledFor(line.level):
        return
    record = logger.makeRecord(
        line.logger, line.level, line.path, line.line, line.message, (), None, line.function
    )
    record.created = line.created
    record.msecs = (line.created - int(line.created)) * 1000
    logger.handle(record)
