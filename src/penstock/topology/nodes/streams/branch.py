"""Splits a stream, as data. How it runs: ``penstock.kernel.operators.streams.branch``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Node):
    """Sends a record to the child of the first predicate that holds, else to ``default``.

    ``children`` are node names, one per predicate. If ``default`` is None, other records are
    dropped.
    """

    predicates: tuple[Callable[[Any, Any], bool], ...]
    children: tuple[str, ...]
    default: str | None = None
