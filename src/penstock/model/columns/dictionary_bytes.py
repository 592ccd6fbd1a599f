"""A column of bytes that repeat: each different item is kept once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.columns.dictionary_column import DictionaryColumn


class DictionaryBytes(DictionaryColumn[bytes]):
    """A number for each row, and bytes for each number; no two numbers have the same bytes."""

    __slots__ = ()

    def used(self) -> DictionaryBytes:
        """Return the same rows, without bytes that no row has."""
        is_used = np.zeros(len(self.different) + 1, bool)
        is_used[self.codes] = True
        if is_used[:-1].all():
            return self
        numbers = np.cumsum(is_used[:-1]) - 1
        different = [*compress(self.different, is_used.tolist())]
        return DictionaryBytes(np.append(numbers, -1)[self.codes], different)


def coded_together(parts: Sequence[DictionaryBytes]) -> DictionaryBytes:
    """Return several columns one after another, with the same number for the same bytes."""
    if all(part.different is parts[0].different for part in parts):
        # They were cut from the same column.
        return DictionaryBytes(np.concatenate([part.codes for part in parts]), parts[0].different)
    numbers, different = numbered([*chain.from_iterable(part.different for part in parts)])
    mine = np.split(numbers, np.cumsum([len(part.different) for part in parts])[:-1])
    codes = [np.append(each, -1)[part.codes] for each, part in zip(mine, parts, strict=True)]
    return DictionaryBytes(np.concatenate(codes), different)


def joined_columns(parts: Sequence[Sequence[bytes | None]]) -> Sequence[bytes | None]:
    """Return several columns one after another, as a dictionary if most of them are one."""
    if len(parts) == 1:
        return parts[0]
    coded = [part for part in parts if isinstance(part, DictionaryBytes)]
    if not coded or sum(map(len, coded)) * 2 < sum(map(len, parts)):
        return [item for part in parts for item in part]
    # The last piece of a batch may be too short to be worth a dictionary of its own.
    return coded_together(
        [
            part if isinstance(part, DictionaryBytes) else DictionaryBytes(*numbered(part))
            for part in parts
        ]
    )


def numbered(items: Sequence[bytes | None]) -> tuple[NDArray[np.int64], list[bytes]]:
    """Return for each item the number of its bytes, -1 for ``None``, and the different items."""
    coded = pa.array(items, pa.large_binary()).dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes, coded.dictionary.to_pylist()
