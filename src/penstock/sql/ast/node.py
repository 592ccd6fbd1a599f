"""The base class of all nodes of the tree: the span of source text that a node came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.model.sql.span import Span


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a statement. Two nodes are equal if all but their spans are equal."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
