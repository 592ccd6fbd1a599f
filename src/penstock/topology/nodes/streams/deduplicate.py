"""Drops records that repeat an earlier one, as data.

How it runs: ``penstock.kernel.operators.streams.deduplicate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(Node):
    """Forwards the first record of each key, or of each key and id, within an interval.

    ``id_selector`` is None if the key alone says which records are equal. ``store`` remembers for
    each of them when the first record was, and which one it was.
    """

    interval_ms: int
    store: str
    id_selector: Callable[[Any, Any], Any] | None = None
