"""Replaces the key of records, as data.

How it runs: ``penstock.kernel.operators.streams.select_key``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectKey(Node):
    """Replaces the key by what the function returns and keeps the value."""

    fn: Callable[[Any, Any], Any]
