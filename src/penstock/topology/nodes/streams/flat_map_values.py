"""Turns a value into any number of values, as data.

How it runs: ``penstock.kernel.operators.streams.flat_map_values``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatMapValues(Node):
    """Forwards each value that the function yields, in order, under the same key."""

    fn: Callable[..., Iterable[Any]]
    with_key: bool = False
