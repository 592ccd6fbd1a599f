"""Turns a record into any number of records, as data.

How it runs: ``penstock.kernel.operators.streams.flat_map``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMap(Node):
    """Forwards each (key, value) pair that the function yields, in order."""

    fn: Callable[[Any, Any], Iterable[tuple[Any, Any]]]
