"""Replaces the value of records, as data.

How it runs: ``penstock.kernel.operators.streams.map_values``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MapValues(Node):
    """Replaces the value. The function sees ``(value)``, or ``(key, value)`` when ``with_key``."""

    fn: Callable[..., Any]
    with_key: bool = False
