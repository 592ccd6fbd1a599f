"""Folds a grouped stream per session, as data.

How it runs: ``penstock.kernel.operators.aggregations.session_aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.model.windows.definitions import SessionWindows
from penstock.topology.nodes.node import TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAggregate(TableNode):
    """Folds the records of one key into one value per session.

    A record between two sessions merges them with ``merger(key, first, second)``. For each merged
    session, a tombstone is forwarded first.
    """

    windows: SessionWindows
    initializer: Callable[[], Any]
    fn: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any]
    emit_final: bool = False
    #: Whether closed windows leave before the record that closes them enters the store.
    emits_first: bool = False
    #: Whether a session of one timestamp that is overwritten is forwarded with its old value.
    tells_old: bool = False
    #: With final results: for how long no record has to come until the wall clock closes windows.
    idle_ms: int | None = None
