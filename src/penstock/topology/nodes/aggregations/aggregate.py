"""Folds a grouped stream, as data.

How it runs: ``penstock.kernel.operators.aggregations.aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(TableNode):
    """Folds the values of each key with ``fn(key, value, aggregate)``, from ``initializer``.

    Records with a null key or value are dropped. ``versioned`` says that the store is versioned.
    """

    initializer: Callable[[], Any]
    fn: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(TableNode):
    """Folds the values of each key into one of the same type. It starts with the first value."""

    fn: Callable[[Any, Any], Any]
