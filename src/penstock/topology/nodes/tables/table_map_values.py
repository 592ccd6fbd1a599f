"""Replaces the values of a table, as data.

How it runs: ``penstock.kernel.operators.tables.table_map_values``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMapValues(TableNode):
    """Replaces the value of each row. The function sees ``(value)`` or ``(key, value)``."""

    fn: Callable[..., Any]
    with_key: bool = False
