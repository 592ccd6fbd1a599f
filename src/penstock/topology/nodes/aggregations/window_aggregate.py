"""Folds a grouped stream per time window, as data.

How it runs: ``penstock.kernel.operators.aggregations.window_aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.model.windows.definitions import TimeWindows, UnlimitedWindows
from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAggregate(TableNode):
    """Folds the records of one key into one value per window.

    A window closes when stream time reaches its end plus grace. A record for a closed window
    is counted as dropped and changes nothing. ``emit_final`` forwards a window once, when it
    closes.
    """

    windows: TimeWindows | UnlimitedWindows
    initializer: Callable[[], Any]
    fn: Callable[[Any, Any, Any], Any]
    emit_final: bool = False
    #: Whether closed windows leave before the record that closes them enters the store.
    emits_first: bool = False
    #: With final results: after this time without records, the wall clock closes windows.
    idle_ms: int | None = None
