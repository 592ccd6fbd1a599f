"""A place in the text of a statement: what errors of SQL point at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the source text: offsets into it, and the line and column of its start.

    Lines count from 1 and columns too; ``end`` is exclusive.
    """

    start: int
    end: int
    line: int
    column: int
