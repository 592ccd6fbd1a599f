"""Errors of the formats, as errors of a SQL statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.formats.errors import FormatError, FormatTypeError
from penstock.model.sql.errors import AnalysisError, SqlTypeError


@contextmanager
def format_errors_as_sql() -> Iterator[None]:
    """Raise errors of formats as SQL errors, which can point at the statement.

    Code, message and advice stay the same.
    """
    try:
        yield
    except FormatError as error:
        kind = SqlTypeError if isinstance(error, FormatTypeError) else AnalysisError
        raise kind(error.code, error.message, error.fix, error.at) from error
