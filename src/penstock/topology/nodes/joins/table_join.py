"""Joins two tables on their key, as data.

How it runs: ``penstock.kernel.operators.joins.table_join``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from penstock.topology.nodes.node import TableNode


class JoinKind(StrEnum):
    """Which side of a join may be missing."""

    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJoin(TableNode):
    """One arm of a table-table join: for a change of its side, it looks up the other side.

    ``this`` and ``other`` are the table nodes of the two sides, seen from this arm. The joiner
    always takes the left table's value first: ``is_left`` says whether this arm is the left one.
    """

    kind: JoinKind
    is_left: bool
    this: str
    other: str
    joiner: Callable[..., Any]
    with_key: bool = False

    @property
    def needs_other(self) -> bool:
        """Return whether the arm has no result without a row of the other side."""
        return self.kind is JoinKind.INNER or (self.kind is JoinKind.LEFT and not self.is_left)

    @property
    def joins_missing(self) -> bool:
        """Return whether a row of the other side has a result without a row of this side."""
        return self.kind is JoinKind.OUTER or (self.kind is JoinKind.LEFT and not self.is_left)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJoinMerge(TableNode):
    """Merges the two arms of a table-table join, and has the store of the result, if any.

    ``left_arm`` and ``right_arm`` are the names of the two ``TableJoin`` nodes.
    """

    left_arm: str
    right_arm: str
