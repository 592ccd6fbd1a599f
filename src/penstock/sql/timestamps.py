"""TIMESTAMP columns: which columns can hold a record's time, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.model.sql.errors import AnalysisError, FunctionError, did_you_mean
from penstock.model.sql.span import Span
from penstock.model.sql.types import BIGINT, STRING, TIMESTAMP
from penstock.model.time.calendar import to_ms
from penstock.sql.catalog.catalog import TimestampColumn
from penstock.sql.catalog.schema import Schema
from penstock.sql.functions.dates.patterns import pieces_of
from penstock.sql.functions.dates.reading import read


def check_timestamp(
    timestamp: TimestampColumn | None, schema: Schema, span: Span | None = None
) -> None:
    """Refuse a TIMESTAMP column that does not exist or whose type cannot hold a time."""
    if timestamp is None:
        return
    column = schema.find(timestamp.name)
    if column is None:
        raise AnalysisError(
            "unknown-timestamp",
            f"the TIMESTAMP column {timestamp.name!r} does not exist",
            fix=did_you_mean(timestamp.name, [c.name for c in schema.columns]),
            span=span,
        )
    if column.type == STRING:
        if timestamp.format is None:
            raise AnalysisError(
                "timestamp-format",
                f"the TIMESTAMP column {timestamp.name!r} is text and needs a TIMESTAMP_FORMAT",
                fix="add TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm:ss', or as the text is written",
                span=span,
            )
        _check_pattern(timestamp.format, span)
        return
    if column.type not in (BIGINT, TIMESTAMP):
        raise AnalysisError(
            "timestamp-type",
            f"the TIMESTAMP column {timestamp.name!r} is {column.type}",
            fix="use a BIGINT, a TIMESTAMP, or text with TIMESTAMP_FORMAT",
            span=span,
        )
    if timestamp.format is not None:
        raise AnalysisError(
            "timestamp-format",
            f"TIMESTAMP_FORMAT is for text, column {timestamp.name!r} is {column.type}",
            fix="leave TIMESTAMP_FORMAT out",
            span=span,
        )


def _check_pattern(pattern: str, span: Span | None) -> None:
    try:
        pieces_of(pattern)
    except FunctionError as error:
        raise AnalysisError(
            "timestamp-format", f"TIMESTAMP_FORMAT: {error.message}", span=span
        ) from None


def timestamp_reader(timestamp: TimestampColumn) -> Callable[[Any], int | None]:
    """Return the function from a column's value to milliseconds; it returns None if that fails."""
    pattern = timestamp.format
    if pattern is None:
        return _number

    def parsed(value: Any) -> int | None:
        try:
            return None if value is None else to_ms(read(value, pattern))
        except (FunctionError, ValueError):
            return None

    return parsed


def _number(value: Any) -> int | None:
    return None if value is None else int(value)
