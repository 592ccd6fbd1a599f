"""Folds a grouped table, as data.

How it runs: ``penstock.kernel.operators.aggregations.table_aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAggregate(TableNode):
    """Adds new rows to and subtracts old rows from the aggregate of their group."""

    initializer: Callable[[], Any]
    adder: Callable[[Any, Any, Any], Any]
    subtractor: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReduce(TableNode):
    """Adds new rows to and subtracts old rows from a value of the same type."""

    adder: Callable[[Any, Any], Any]
    subtractor: Callable[[Any, Any], Any]
