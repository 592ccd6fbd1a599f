"""Write logs as JSON, one object per line, with the application, batch and task of each line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
from confluent_kafka import KafkaException

from penstock.config import APPLICATION_ID, LOG_FORMAT, StreamsConfig
from penstock.errors import PenstockError

_about: ContextVar[Mapping[str, Any] | None] = ContextVar("penstock-log-about", default=None)


@contextmanager
def log_about(**facts: Any) -> Iterator[None]:
    """Add these facts to every line that this thread logs inside a ``with`` block."""
    token = _about.set({**(_about.get() or {}), **facts})
    try:
        yield
    finally:
        _about.reset(token)


def is_fault(error: BaseException) -> bool:
    """Tell whether an error may be a fault of this library, so that its traceback is logged.

    Errors of Penstock, Kafka, Spark's JVM and the operating system say what is wrong themselves.
    """
    is_known = isinstance(error, (PenstockError, KafkaException, OSError))
    return not is_known and not type(error).__module__.startswith("py4j.")


def _is_about_something_else(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not kind.__module__.startswith("py4j.")


def expect_no_answer_of_jvm() -> None:
    """Leave out what py4j logs when the JVM ends in the middle of a call.

    It logs that with the function ``logging.exception``, whatever the level of its own logger is.
    """
    logging.getLogger().addFilter(_is_about_something_else)


class JsonFormatter(logging.Formatter):
    """Format a line as JSON: time, level, logger, message, application, batch, task, error."""

    def __init__(self, application: str) -> None:
        super().__init__()
        self.application = application

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "application": self.application,
            **(_about.get() or {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["stack"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class _JsonHandler(logging.StreamHandler[TextIO]):
    """The handler that ``use_log_format`` adds; a process has at most one."""


def use_log_format(config: StreamsConfig, stream: TextIO | None = None) -> None:
    """Write Penstock's logs as ``penstock.log.format`` says; text leaves logging as it is.

    The lines name one application. If a process starts a second one, they name that one.
    """
    if config[LOG_FORMAT] != "json":
        return
    logger = logging.getLogger("penstock")
    for handler in [each for each in logger.handlers if isinstance(each, _JsonHandler)]:
        logger.removeHandler(handler)
    handler = _JsonHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(config[APPLICATION_ID]))
    logger.addHandler(handler)
    # Handlers of the root logger would print each line a second time, as text.
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
