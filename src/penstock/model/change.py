"""The values that travel between table operators: the new value with the one that it replaces."""

from __future__ import annotations

from typing import Any, NamedTuple


class Change(NamedTuple):
    """An update of one key of a table.

    ``is_latest`` is false for an out-of-order update of a versioned table. Later table operators
    must ignore it.
    """

    new: Any
    old: Any
    is_latest: bool = True
