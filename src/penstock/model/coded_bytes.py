"""A column of bytes in which the same bytes come again and again: each is kept once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from penstock.model.coded import Coded


class CodedBytes(Coded[bytes]):
    """For every row a number, for every number its bytes; no two numbers have the same bytes."""

    __slots__ = ()

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
