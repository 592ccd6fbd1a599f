"""An aggregator that keeps a part of a group's state in a store of its own, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.state.spec import StoreSpec

#: ``(key, value, aggregate) -> aggregate``.
RowsFold = Callable[[Any, Any, Any], Any]
#: ``(key, value, aggregate, window start) -> aggregate``.
WindowsFold = Callable[[Any, Any, Any, int], Any]
#: ``(key, new value, old value, aggregate) -> aggregate``.
ChangesFold = Callable[[Any, Any, Any, Any], Any]


class StoreFold(ABC):
    """Takes the place of an aggregator whose state would not fit one row.

    A task opens it with its second store, which is restored and committed with the store of the
    results. An opened fold reads and writes rows of that store in addition to what it returns. If
    it raises, it has written nothing. The planner of SQL makes these; they run record by record.
    """

    spec: StoreSpec

    @abstractmethod
    def over_rows(self, store: Any) -> RowsFold:
        """Return the fold of a stream without windows."""

    @abstractmethod
    def over_windows(self, store: Any) -> WindowsFold:
        """Return the fold of a stream with windows; its store is a window store."""

    @abstractmethod
    def over_changes(self, store: Any) -> ChangesFold:
        """Return the fold of a table: it subtracts the old value and adds the new one."""

    def __call__(self, key: Any, value: Any, aggregate: Any) -> Any:
        """Refuse the call: without its store, the fold does not know the rest of its state."""
        raise TypeError(f"{type(self).__name__} has to be opened with its store")
