"""Records of the same key found together: a number per key, and where each key comes last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.kernel.columns.batch import Places, Times
from penstock.kernel.columns.key_order import key_order
from penstock.model.columns.dictionary_bytes import DictionaryBytes, numbered


@dataclass(frozen=True, slots=True)
class Groups:
    """``codes`` says for each record which of the ``keys`` it has."""

    codes: Places
    keys: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def last_places(self) -> Places:
        """For each key, where its last record is."""
        last = np.zeros(len(self), np.int64)
        # Of several records with the same key the last one stays.
        last[self.codes] = np.arange(len(self.codes))
        return last

    def newest(self, timestamps: Times) -> Times:
        """For each key, the highest of its timestamps."""
        newest = np.full(len(self), np.iinfo(np.int64).min)
        np.maximum.at(newest, self.codes, timestamps)
        return newest

    def sizes(self) -> Places:
        return np.bincount(self.codes, minlength=len(self))


def grouped(keys: Sequence[bytes | None]) -> Groups:
    """Finds the different keys; none of them may be None."""
    if isinstance(keys, DictionaryBytes):
        used = keys.used()
        return Groups(used.codes, used.different)
    return Groups(*numbered(keys))


def grouped_in_order(keys: Sequence[bytes | None]) -> Groups:
    """The same with the keys in the order of their bytes, which is that of a store.

    They are new objects: what is used one after the other had better lie side by side.
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
    """Groups by key and window, in the order of their last records, and the start of each."""
    distinct, windows = np.unique(starts, return_inverse=True)
    pairs, codes = np.unique(groups.codes * len(distinct) + windows, return_inverse=True)
    last = np.zeros(len(pairs), np.int64)
    last[codes] = np.arange(len(codes))
    order = np.argsort(last)
    owners, places = np.divmod(pairs[order], len(distinct))
    keys = [groups.keys[n] for n in owners.tolist()]
    return Groups(_numbers(order)[codes], keys), distinct[places]


def _numbers(order: Places) -> Places:
    """For each item the place that the order gives it."""
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return numbers
