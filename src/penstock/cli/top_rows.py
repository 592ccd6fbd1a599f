"""The rows of a store that a view has room for: the largest numbers, or the first keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest
from itertools import islice
from typing import Any

from penstock.cli.live_view import is_number
from penstock.cli.snapshot import Rows
from penstock.errors import PenstockError
from penstock.state.spec import StoreKind
from penstock.topology.graph import Graph

#: A store with more entries is not shown: every update of the view would read all of them.
_MOST_ENTRIES = 20_000
_KINDS = (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE)


def store_to_show(graph: Graph) -> str | None:
    """Return the first key-value store whose keys are not windowed, or None."""
    return next((name for name, spec in graph.stores.items() if spec.kind in _KINDS), None)


class TopRows:
    """Read the top rows of a running application's store; None while it cannot answer."""

    def __init__(self, store: Callable[[], Any], name: str, count: int) -> None:
        self._store = store
        self._name = name
        self._count = count
        self._is_too_large = False

    def __call__(self) -> Rows | None:
        if self._is_too_large:
            return None
        try:
            store = self._store()
            if store.approximate_num_entries() > _MOST_ENTRIES:
                self._is_too_large = True
                return None
            return self._name, top(store.all(), self._count)
        except (PenstockError, OSError, EOFError):
            # The slot has not opened the store yet, or has just closed it.
            return None


def top(entries: Iterable[tuple[Any, Any]], count: int) -> tuple[tuple[str, Any], ...]:
    """Return the entries with the largest numbers, or the first ones if values are not numbers."""
    found = list(islice(entries, _MOST_ENTRIES + 1))
    if all(is_number(value) for _, value in found):
        # Entries with equal numbers keep the order of their keys, so that rows do not move.
        found = nlargest(count, found, key=lambda entry: entry[1])
    return tuple((str(key), value) for key, value in found[:count])
