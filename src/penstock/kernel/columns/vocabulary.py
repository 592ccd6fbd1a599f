"""Texts that repeat, such as words: each has one number for the whole batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from penstock.kernel.columns.batch_column import BatchColumn, DictionaryBatchColumn
from penstock.serde.primitives import StringSerde

#: Among fewer texts than this, it is not worth looking for equal ones.
_FEW_TEXTS = 64


class Vocabulary:
    """Numbers texts in the order of their first use, over all pieces of a batch.

    The columns of all pieces share their different texts. So pieces are put together again by their
    numbers alone.
    """

    def __init__(self) -> None:
        self._is_worth_it = True
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._texts: list[Any] = []
        self._bytes: list[bytes | None] = []

    def column(self, texts: Sequence[Any]) -> BatchColumn:
        """Return a column of texts, with numbers if most texts repeat."""
        if len(texts) < _FEW_TEXTS or not self._is_worth_it or set(map(type, texts)) != {str}:
            return BatchColumn(texts)
        codes = np.fromiter(map(self._numbers.__getitem__, texts), np.int64, len(texts))
        more = [*islice(self._numbers, len(self._texts), None)]
        self._is_worth_it = len(more) * 2 <= len(texts) and self._add(more)
        if not self._is_worth_it:
            return BatchColumn(texts)
        shared = BatchColumn(self._texts, self._bytes, StringSerde(), is_input=False)
        return DictionaryBatchColumn(codes, shared)

    def _add(self, texts: list[str]) -> bool:
        """Add texts; return false if one of them cannot be written as UTF-8."""
        try:
            self._bytes += [*map(str.encode, texts)]
        except UnicodeEncodeError:
            return False
        self._texts += texts
        return True
