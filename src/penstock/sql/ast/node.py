"""What every node of the tree shares: the piece of source text it came from."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the source text: offsets into it, and the line and column of its start.

    Lines count from 1 and columns too; ``end`` is exclusive.
    """

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a statement. Two nodes are equal when they mean the same, wherever they stand."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
