"""What happens to records that cannot be read, processed or written: handlers and dead letters."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from penstock.errors import PenstockError
from penstock.model.dead_letters import CAUSE, ORIGIN
from penstock.model.record import Headers
from penstock.model.task_id import TaskId

log = logging.getLogger(__name__)


class HandlerResult(Enum):
    """What a handler decides about a failed record."""

    FAIL = "fail"
    CONTINUE = "continue"
    RETRY = "retry"


_BY_NAME = {result.value: result for result in HandlerResult}

FAIL = HandlerResult.FAIL
CONTINUE = HandlerResult.CONTINUE
RETRY = HandlerResult.RETRY


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record for a dead letter topic, as bytes."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A decision together with records for dead letter topics, sent in the same transaction."""

    result: HandlerResult
    dead_letters: tuple[DeadLetter, ...] = ()

    @staticmethod
    def resume(dead_letters: Iterable[DeadLetter] = ()) -> Response:
        """Leave the record out and continue; write these dead letters."""
        return Response(CONTINUE, tuple(dead_letters))

    @staticmethod
    def fail(dead_letters: Iterable[DeadLetter] = ()) -> Response:
        """Stop; write these dead letters."""
        return Response(FAIL, tuple(dead_letters))

    @staticmethod
    def retry() -> Response:
        """Try the record again. Only the production handler may ask for it."""
        return Response(RETRY)


@dataclass(frozen=True, slots=True)
class ErrorHandlerContext:
    """Where a record failed. Topic is None and offset -1 inside a punctuation."""

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    timestamp: int
    processor_node_id: str
    task_id: TaskId
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None
    #: ``errors.dead.letter.queue.topic.name`` of the configuration, if set.
    dead_letter_topic: str | None = None
    #: What the node is called where people look: its operator, its line, its function or topic.
    node_title: str = ""


class ExceptionHandler(Protocol):
    """A function or an object that is called with the context, the record and the error.

    The record is a ``ConsumerRecord`` of raw bytes for deserialization, a ``Record`` (None in a
    punctuation) for processing and a ``ProducerRecord``-like ``Record`` for production.
    """

    def __call__(
        self, context: ErrorHandlerContext, record: Any, error: Exception
    ) -> HandlerResult | Response: ...


def dead_letters(context: ErrorHandlerContext, error: Exception) -> tuple[DeadLetter, ...]:
    """Return the raw input record with the reason in its headers; nothing without a topic."""
    if context.dead_letter_topic is None:
        return ()
    stacktrace = "".join(traceback.format_exception(error))
    why: Headers = (
        (CAUSE + "exception", type(error).__qualname__.encode()),
        (CAUSE + "stacktrace", stacktrace.encode()),
        (CAUSE + "message", str(error).encode()),
        (CAUSE + "topic", (context.topic or "").encode()),
        (CAUSE + "partition", str(context.partition).encode()),
        (CAUSE + "offset", str(context.offset).encode()),
        (ORIGIN + "node", context.processor_node_id.encode()),
        *(((ORIGIN + "code", error.code.encode()),) if isinstance(error, PenstockError) else ()),
    )
    return (
        DeadLetter(
            context.dead_letter_topic,
            context.source_raw_key,
            context.source_raw_value,
            (*context.headers, *why),
            context.timestamp,
        ),
    )


class _LogAnd:
    """Logs the failed record with its position. The decision is always the same."""

    result = FAIL

    def __call__(self, context: ErrorHandlerContext, record: Any, error: Exception) -> Response:
        level = logging.ERROR if self.result is FAIL else logging.WARNING
        log.log(
            level,
            "%s: %s, task %s, topic %r partition %d offset %d: %r",
            type(self).__name__, context.node_title or f"node {context.processor_node_id!r}",
            context.task_id,
            context.topic, context.partition, context.offset, error,
        )  # fmt: skip
        return Response(self.result, dead_letters(context, error))


class LogAndFailExceptionHandler(_LogAnd):
    """Stops at a record that cannot be decoded. This is the default for deserialization."""


class LogAndContinueExceptionHandler(_LogAnd):
    """Skips records that cannot be decoded."""

    result = CONTINUE


class LogAndFailProcessingExceptionHandler(_LogAnd):
    """Stops at a record that a node fails on. This is the default for processing."""


class LogAndContinueProcessingExceptionHandler(_LogAnd):
    """Skips records that a node fails on; other branches of the topology still get them."""

    result = CONTINUE


class DefaultProductionExceptionHandler(_LogAnd):
    """Stops at a record that cannot be written. This is the default for production."""


def as_response(given: HandlerResult | Response | str | None) -> Response:
    """Convert the result of a handler to a response. An unknown result fails: nothing is lost."""
    if isinstance(given, Response):
        return given
    if isinstance(given, HandlerResult):
        return Response(given)
    if isinstance(given, str) and given.lower() in _BY_NAME:
        return Response(_BY_NAME[given.lower()])
    raise TypeError(f"it returned {given!r}, which is not a decision")
