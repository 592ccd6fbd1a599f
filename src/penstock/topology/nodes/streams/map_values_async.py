"""Replaces the value by the answer of a call that takes a while, as data.

How it runs: ``penstock.kernel.operators.streams.map_values_async``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MapValuesAsync(Node):
    """Calls the function for several records at the same time, and forwards in their order.

    The function sees ``(value)``, or ``(key, value)`` when ``with_key``. It may be a coroutine
    function or a plain one, which then runs in a thread.
    """

    fn: Callable[..., Any]
    with_key: bool = False
    concurrency: int = 16
    timeout_ms: int = 30_000
    #: How often a call that failed is repeated, and how long after the first failure.
    retries: int = 0
    backoff_ms: int = 100
