"""A column of bytes in which the same bytes come again and again: each is kept once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class CodedBytes(Sequence[bytes | None]):
    """For every row a number, for every number its bytes; a row without bytes has -1.

    No two numbers have the same bytes. Some may be in no row.
    """

    __slots__ = ("codes", "different")

    def __init__(self, codes: NDArray[np.int64], different: list[bytes]) -> None:
        self.codes = codes
        self.different = different

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> bytes | None: ...
    @overload
    def __getitem__(self, place: slice) -> CodedBytes: ...
    def __getitem__(self, place: int | slice) -> bytes | CodedBytes | None:
        if isinstance(place, slice):
            return CodedBytes(self.codes[place], self.different)
        code = self.codes[place]
        return None if code < 0 else self.different[code]

    def __iter__(self) -> Iterator[bytes | None]:
        different: list[bytes | None] = [*self.different, None]
        return iter([different[code] for code in self.codes.tolist()])

    def take(self, places: Any) -> CodedBytes:
        return CodedBytes(self.codes[places], self.different)

    def used(self) -> CodedBytes:
        """The same rows without bytes that are in none of them."""
        is_used = np.zeros(len(self.different) + 1, bool)
        is_used[self.codes] = True
        if is_used[:-1].all():
            return self
        numbers = np.cumsum(is_used[:-1]) - 1
        different = [*compress(self.different, is_used.tolist())]
        return CodedBytes(np.append(numbers, -1)[self.codes], different)


def coded_together(parts: Sequence[CodedBytes]) -> CodedBytes:
    """Several columns one after the other, with one number for the same bytes."""
    if all(part.different is parts[0].different for part in parts):
        # They were cut from the same column.
        return CodedBytes(np.concatenate([part.codes for part in parts]), parts[0].different)
    numbers: dict[bytes, int] = {}
    codes = []
    for part in parts:
        mine = [numbers.setdefault(each, len(numbers)) for each in part.different]
        codes.append(np.array([*mine, -1], np.int64)[part.codes])
    return CodedBytes(np.concatenate(codes), list(numbers))


def joined_columns(parts: Sequence[Sequence[bytes | None]]) -> Sequence[bytes | None]:
    """Several columns one after the other, coded if all of them are."""
    if len(parts) == 1:
        return parts[0]
    coded = [part for part in parts if isinstance(part, CodedBytes)]
    if len(coded) == len(parts):
        return coded_together(coded)
    return [item for part in parts for item in part]
