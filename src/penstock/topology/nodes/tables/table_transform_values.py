"""Replaces the values of a table with the help of stores, as data.

How it runs: ``penstock.kernel.operators.tables.table_transform_values``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTransformValues(TableNode):
    """Replaces the value of each row by the result of a transformer, which may have stores."""

    supplier: Callable[[], Any]
