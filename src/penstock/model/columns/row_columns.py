"""Rows that are kept as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, repeat
from operator import itemgetter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from penstock.model.columns.dictionary_column import DictionaryColumn

Items = Sequence[Any]
Places = NDArray[np.int64]


class RowColumns(Sequence[tuple[Any, ...]]):
    """A sequence of tuples that has one column for each place of the tuples.

    It has no missing rows: a batch with a record without a value is a list instead. A column may be
    a function that makes it. The function is called when the column is asked for the first time.
    If it calls code of the user, it says so with ``user_code``.
    """

    __slots__ = ("_columns", "_length")

    def __init__(self, columns: Sequence[Items | Callable[[], Items]], length: int) -> None:
        self._columns = list(columns)
        self._length = length

    @property
    def width(self) -> int:
        return len(self._columns)

    def column(self, place: int) -> Items:
        found = self._columns[place]
        if callable(found):
            found = self._columns[place] = found()
        return found

    def columns(self) -> list[Items]:
        return [self.column(place) for place in range(self.width)]

    def lazily(self) -> list[Callable[[], Items]]:
        """Return the columns as functions, to make other rows of them."""
        return [lambda place=place: self.column(place) for place in range(self.width)]  # type: ignore[misc]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> RowColumns: ...
    def __getitem__(self, place: int | slice) -> tuple[Any, ...] | RowColumns:
        if isinstance(place, slice):
            return self.take(np.arange(self._length)[place])
        return tuple([column[place] for column in self.columns()])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self._columns:
            return repeat((), self._length)
        return zip(*self.columns(), strict=True)

    def __contains__(self, item: object) -> bool:
        return item is not None and any(row == item for row in self)

    def take(self, places: Sequence[int] | Places) -> RowColumns:
        """Return the rows at these places, in this order."""
        chosen = np.asarray(places, np.int64)
        made = [lambda of=of: taken(of(), chosen) for of in self.lazily()]
        return RowColumns(made, len(chosen))

    def coded(self, codes: Places) -> RowColumns:
        """Return for every code the row at that place; each different row is kept once."""
        made = [lambda of=of: _coded(of(), codes) for of in self.lazily()]
        return RowColumns(made, len(codes))


def places_of(mask: Sequence[Any] | NDArray[np.bool_]) -> Places:
    """Return the places where a mask is true."""
    if not isinstance(mask, np.ndarray):
        mask = np.fromiter(map(bool, mask), bool, len(mask))
    return np.flatnonzero(mask)


def kept(items: Items, mask: Sequence[Any]) -> Items:
    """Return the items where the mask is true, in the same representation."""
    if isinstance(items, RowColumns | DictionaryColumn):
        return items.take(places_of(mask))
    return [*compress(items, mask)]


def taken(items: Items, places: Sequence[int] | Places) -> Items:
    """Return the items at these places, in the same representation."""
    if isinstance(items, RowColumns | DictionaryColumn):
        return items.take(np.asarray(places, np.int64))
    wanted = places.tolist() if isinstance(places, np.ndarray) else places
    if len(wanted) < 2:
        return [items[place] for place in wanted]
    return list(itemgetter(*wanted)(items))


def _coded(items: Items, codes: Places) -> Items:
    return (
        items.take(codes)
        if isinstance(items, DictionaryColumn)
        else DictionaryColumn(codes, list(items))
    )
