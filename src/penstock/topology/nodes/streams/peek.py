"""Calls a function for each record, as data.

How it runs: ``penstock.kernel.operators.streams.peek``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek(Node):
    """Calls the function with each record, and forwards the record unless it is a ``foreach``."""

    fn: Callable[[Any, Any], None]
    forwards: bool = True
