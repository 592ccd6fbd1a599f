"""What every node of the tree shares: the piece of source text it came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.model.sql.span import Span


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a statement. Two nodes are equal when they mean the same, wherever they stand."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
