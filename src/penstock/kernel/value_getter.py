"""Reading a table from another operator: from its store, or computed from its parents."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.model.versioned import ValueAndTimestamp


class ValueGetter(Protocol):
    """Reads the current row of a table, with the timestamp of its update."""

    #: Whether ``get_as_of`` can look into the past.
    is_versioned: bool

    def get(self, key: Any) -> ValueAndTimestamp | None: ...

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None: ...
