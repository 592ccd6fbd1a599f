"""Errors of formats and schemas. How SQL shows them: ``penstock.sql.format_errors``."""

from __future__ import annotations

from penstock.errors import PenstockError


class FormatError(PenstockError):
    """A format, one of its properties or its schema cannot be used as asked."""


class FormatTypeError(FormatError):
    """A format cannot hold values of some type."""
