"""Gives a table's rows a new value with the help of state, as data.

How it runs: ``penstock.kernel.operators.tables.table_transform_values``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTransformValues(TableNode):
    """Replaces the value of each row by what a transformer with stores makes of it."""

    supplier: Callable[[], Any]
