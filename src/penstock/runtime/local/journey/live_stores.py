"""Stores of a task that runs: each access is noted while a record is traced."""

from __future__ import annotations

from typing import Any

from penstock.runtime.local.journey.node_trace import NodeTrace
from penstock.runtime.local.journey.watched_stores import NOTED, Serdes, WatchedStore
from penstock.serving.journey.values import Trace


class LiveStore:
    """One store. It notes accesses while a trace is on, and passes everything on otherwise."""

    def __init__(self, inner: Any, trace: NodeTrace, serdes: Serdes) -> None:
        self._inner, self._trace, self._serdes = inner, trace, serdes
        #: Notes for one trace: what it read last belongs to no other record.
        self._watched: tuple[Trace, WatchedStore] | None = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in NOTED:
            return found

        # Nodes look a method up once, before the first record.
        def call(*args: Any, **given: Any) -> Any:
            if not self._trace.is_on:
                return found(*args, **given)
            return getattr(self._noting(), name)(*args, **given)

        return call

    # Python looks operators up on the class, so ``__getattr__`` does not see them.

    def __getitem__(self, key: Any) -> Any:
        return self._now()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._now()[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._now()[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._now()

    def __iter__(self) -> Any:
        return iter(self._now())

    def _now(self) -> Any:
        return self._noting() if self._trace.is_on else self._inner

    def _noting(self) -> WatchedStore:
        trace = self._trace.trace
        if self._watched is None or self._watched[0] is not trace:
            made = WatchedStore(self._inner, self._trace, None, {}, self._serdes)
            self._watched = trace, made
        return self._watched[1]
