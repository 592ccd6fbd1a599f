"""The present rows of a table, as the changes of a push query make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from penstock.cli.sql.prompt.row_table import cell_text
from penstock.client.rows import Row

#: More rows than these are not kept; the ones that have not changed for the longest time go.
_MOST = 10_000


class PresentRows:
    """The last row of each key. A deleted row is gone."""

    def __init__(self, key: Sequence[str]) -> None:
        self._key = key
        #: Rows in the order in which their keys came first.
        self._rows: dict[tuple[str, ...], Row] = {}
        #: The keys, the one that changed last at the end.
        self._changed: dict[tuple[str, ...], None] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, changes: Iterable[Row]) -> None:
        """Apply changes in order."""
        for row in changes:
            # Texts, because lists and maps cannot be keys of a dictionary.
            key = tuple([cell_text(row[name]) for name in self._key])
            self._changed.pop(key, None)
            if row.is_deleted:
                self._rows.pop(key, None)
                continue
            self._rows[key] = row
            self._changed[key] = None
            if len(self._rows) > _MOST:
                oldest = next(iter(self._changed))
                del self._changed[oldest], self._rows[oldest]

    def shown(self, most: int) -> list[Row]:
        """Return the rows in the order of their keys; if they are too many, the latest changes."""
        if len(self._rows) <= most:
            return list(self._rows.values())
        latest = set(islice(reversed(self._changed), most))
        return [row for key, row in self._rows.items() if key in latest]
