"""Keeps some rows of a table, as data.

How it runs: ``penstock.kernel.operators.tables.table_filter``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFilter(TableNode):
    """Forwards a row that passes, and a tombstone for one that no longer does."""

    predicate: Callable[[Any, Any], bool]
    negate: bool = False
