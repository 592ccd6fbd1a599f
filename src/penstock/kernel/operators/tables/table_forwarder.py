"""Forwards the updates of a table's store: at once, or when its cache is flushed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.model.change import Change
from penstock.model.record import Headers

if TYPE_CHECKING:
    from penstock.kernel.executor import Executor

#: Makes a named tuple in a third of the time that its own constructor takes.
make = tuple.__new__


class TableForwarder:
    """Forwards changes of a store. Behind a cache, only the flush of the cache forwards."""

    def __init__(self, store: Any, executor: Executor[Any], *, sends_old: bool) -> None:
        self._executor = executor
        self._forward = executor.forward
        self._context = executor.context
        self._sends_old = sends_old
        self.is_cached: bool = store.set_flush_listener(self._flushed, send_old=sends_old)

    def forward(
        self,
        key: Any,
        new: Any,
        old: Any,
        timestamp: int,
        headers: Headers,
        latest: bool = True,
    ) -> None:
        """Forward the change unless the cache will; leave out the old value if no node needs it."""
        if not self.is_cached:
            change = Change(new, old if self._sends_old else None, latest)
            self._executor.forward_at(key, change, timestamp, headers)

    def _flushed(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers) -> None:
        new_value = None
        if new is not None:
            new_value, timestamp = new
        change = make(Change, (new_value, None if old is None else old[0], True))
        if timestamp == self._context.timestamp:
            # The cache has set the context to the record that wrote the entry.
            self._forward(key, change, timestamp, headers)
        else:
            self._executor.forward_at(key, change, timestamp, headers)
