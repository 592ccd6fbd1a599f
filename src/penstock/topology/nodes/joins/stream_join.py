"""Joins two streams within a window of time, as data.

How it runs: ``penstock.kernel.operators.joins.stream_join``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.model.windows.definitions import JoinWindows
from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJoinWindow(Node):
    """Keeps the records of one side in its window ``store``, where the other side finds them."""

    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJoin(Node):
    """One arm of a stream-stream join: finds partners in the other side's store.

    The joiner always takes the left value first. ``emits_unmatched`` means that records of this
    side without a partner are emitted when the window has closed (left and outer joins).
    ``outer_store`` keeps them until then, for both arms. Both arms share one clock.
    """

    is_left: bool
    other_store: str
    windows: JoinWindows
    joiner: Callable[..., Any]
    with_key: bool = False
    outer: bool = False
    outer_store: str | None = None
    clock: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSelfJoin(Node):
    """Joins a stream with itself over a single store."""

    store: str
    windows: JoinWindows
    joiner: Callable[..., Any]
    with_key: bool = False
