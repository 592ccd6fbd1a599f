"""Finds the records of each key: a number per key, and the place of its last record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.kernel.columns.batch_column import Places, Times
from penstock.kernel.columns.key_order import key_order
from penstock.model.columns.dictionary_bytes import DictionaryBytes, numbered


@dataclass(frozen=True, slots=True)
class Groups:
    """``codes`` has for each record the place of its key in ``keys``."""

    codes: Places
    keys: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def last_places(self) -> Places:
        """Return for each key the place of its last record, which is its row."""
        return _last_places(self.codes, len(self))

    def in_turn(self) -> Places:
        """Return the keys' numbers in the order of their last records, as a cache sends them."""
        return np.argsort(self.last_places())

    def newest(self, timestamps: Times) -> Times:
        """Return the highest timestamp of each key."""
        newest = np.full(len(self), np.iinfo(np.int64).min)
        np.maximum.at(newest, self.codes, timestamps)
        return newest

    def sizes(self) -> Places:
        return np.bincount(self.codes, minlength=len(self))


def grouped(keys: Sequence[bytes | None]) -> Groups:
    """Find the different keys. None of them is ``None``."""
    if isinstance(keys, DictionaryBytes):
        used = keys.used()
        return Groups(used.codes, used.different)
    return Groups(*numbered(keys))


def grouped_in_order(keys: Sequence[bytes | None]) -> Groups:
    """Find the different keys, in the order of their bytes. A store keeps them in this order.

    The keys are new objects: objects that are used one after another are faster if they lie side by
    side in memory.
    """
    if isinstance(keys, DictionaryBytes):
        used = keys.used()
        codes, different = used.codes, pa.array(used.different, pa.binary())
    else:
        encoded = pa.array(keys, pa.binary()).dictionary_encode()
        codes, different = encoded.indices.to_numpy(), encoded.dictionary
    order = key_order(different)
    return Groups(_numbers(order)[codes], different.take(pa.array(order)).to_pylist())


def grouped_windows(groups: Groups, starts: Times) -> tuple[Groups, Times]:
    """Group by key and window, in the order of last records; return the windows' starts, too."""
    distinct, windows = np.unique(starts, return_inverse=True)
    pairs, codes = np.unique(groups.codes * len(distinct) + windows, return_inverse=True)
    order = np.argsort(_last_places(codes, len(pairs)))
    owners, places = np.divmod(pairs[order], len(distinct))
    keys = [groups.keys[n] for n in owners.tolist()]
    return Groups(_numbers(order)[codes], keys), distinct[places]


def _last_places(codes: Places, count: int) -> Places:
    """Return the place of each number's last record: ``LastRows`` over an array."""
    last = np.zeros(count, np.int64)
    # If a number has several records, the last assignment stays.
    last[codes] = np.arange(len(codes))
    return last


def _numbers(order: Places) -> Places:
    """Return for each item its place in the order."""
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return numbers
