"""Replaces key and value of records, as data.

How it runs: ``penstock.kernel.operators.streams.map``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Node):
    """Replaces key and value by the pair that the function returns. None is an error."""

    fn: Callable[[Any, Any], tuple[Any, Any]]
