"""Keeps some records of a stream, as data.

How it runs: ``penstock.kernel.operators.streams.filter``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Node):
    """Forwards a record if the predicate holds for it, or, negated, if it does not."""

    predicate: Callable[[Any, Any], bool]
    negate: bool = False
