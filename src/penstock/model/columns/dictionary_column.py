"""A column of items that repeat: each different item is kept once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

T = TypeVar("T")

#: Among fewer texts than this, it is not worth looking for equal ones.
_FEW_TEXTS = 64


class DictionaryColumn(Sequence[T | None], Generic[T]):
    """Each row has a number, and each number has its item; a row without an item has -1.

    There may be items that no row has.
    """

    __slots__ = ("codes", "different")

    def __init__(self, codes: NDArray[np.int64], different: list[T]) -> None:
        self.codes = codes
        self.different = different

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> T | None: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return type(self)(self.codes[place], self.different)
        code = self.codes[place]
        return None if code < 0 else self.different[code]

    def __iter__(self) -> Iterator[T | None]:
        different: list[T | None] = [*self.different, None]
        return iter([different[code] for code in self.codes.tolist()])

    def __contains__(self, item: object) -> bool:
        if item is None:
            return bool((self.codes < 0).any()) or (
                None in self.different and any(each is None for each in self)
            )
        return any(each == item for each in self)

    def take(self, places: Any) -> Self:
        return type(self)(self.codes[places], self.different)


def coded_texts(texts: Sequence[Any]) -> DictionaryColumn[str] | None:
    """Return the same column with every text once; ``None`` if that saves nothing."""
    if len(texts) < _FEW_TEXTS or set(map(type, texts)) != {str}:
        return None
    try:
        coded = pa.array(texts, pa.string()).dictionary_encode()
    except (pa.ArrowInvalid, UnicodeEncodeError):
        # The text cannot be written as UTF-8.
        return None
    if len(coded.dictionary) * 2 > len(texts):
        return None
    return DictionaryColumn(coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist())
