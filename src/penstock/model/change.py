"""What flows between table operators: the new value together with the one it replaces."""

from __future__ import annotations

from typing import Any, NamedTuple


class Change(NamedTuple):
    """An update of one key of a table.

    ``is_latest`` is false for an out-of-order update of a versioned table, which later table
    operators must ignore.
    """

    new: Any
    old: Any
    is_latest: bool = True
