"""Texts that come again and again, such as words: each has one number for the whole batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from penstock.kernel.columns.batch import CodedColumn, Column
from penstock.serde.primitives import StringSerde

#: Fewer texts than this are not worth looking for the same among them.
_FEW_TEXTS = 64


class Vocabulary:
    """Numbers texts in the order in which they come first, over all pieces of a batch.

    The columns of all pieces share their different texts, so that putting pieces together again
    only takes their numbers.
    """

    def __init__(self) -> None:
        self._is_worth_it = True
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._texts: list[Any] = []
        self._bytes: list[bytes | None] = []

    def column(self, texts: Sequence[Any]) -> Column:
        """A column of values, coded if most of them come again."""
        if len(texts) < _FEW_TEXTS or not self._is_worth_it or set(map(type, texts)) != {str}:
            return Column(texts)
        codes = np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))
        more = [*islice(self._numbers, len(self._texts), None)]
        self._is_worth_it = len(more) * 2 <= len(texts) and self._add(more)
        if not self._is_worth_it:
            return Column(texts)
        shared = Column(self._texts, self._bytes, StringSerde(), is_input=False)
        return CodedColumn(codes, shared)

    def _add(self, texts: list[str]) -> bool:
        """False if one of them cannot be written as UTF-8."""
        try:
            self._bytes += [*map(str.encode, texts)]
        except UnicodeEncodeError:
            return False
        self._texts += texts
        return True
