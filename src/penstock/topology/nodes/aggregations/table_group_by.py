"""Re-keys a table's changes for a grouped aggregation, as data.

How it runs: ``penstock.kernel.operators.aggregations.table_group_by``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableGroupBy(TableNode):
    """Maps old and new row of each change to ``(key, value)`` pairs and forwards them.

    If both have the same new key, they are one change. Otherwise they are two, the old one first.
    """

    fn: Callable[[Any, Any], tuple[Any, Any]]
