"""Records of the same key found together: a number per key, and where each key comes last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.kernel.vector.batch import Places, Times
from penstock.model.coded_bytes import CodedBytes


@dataclass(frozen=True, slots=True)
class Groups:
    """``codes`` says for each record which of the ``keys`` it has; keys are in order of arrival."""

    codes: Places
    keys: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def last_places(self) -> Places:
        """For each key, where its last record is."""
        last = np.zeros(len(self), np.int64)
        np.maximum.at(last, self.codes, np.arange(len(self.codes)))
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
    if isinstance(keys, CodedBytes):
        used = keys.used()
        return Groups(used.codes, used.different)
    encoded = pa.array(keys, pa.binary()).dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    return Groups(codes, encoded.dictionary.to_pylist())


def grouped_windows(groups: Groups, starts: Times) -> tuple[Groups, Places, Times]:
    """Groups by key and window: with, for each group, the number of its key and its start."""
    distinct, windows = np.unique(starts, return_inverse=True)
    pairs, first, codes = np.unique(
        groups.codes * len(distinct) + windows, return_index=True, return_inverse=True
    )
    owners = pairs // len(distinct)
    keys = [groups.keys[n] for n in owners.tolist()]
    return Groups(codes.astype(np.int64), keys), owners, starts[first]
