"""A place in the text of a statement, for error messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the source text: its offsets, and the line and column of its start.

    Lines and columns count from 1. ``end`` is exclusive.
    """

    start: int
    end: int
    line: int
    column: int
