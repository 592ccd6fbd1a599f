"""The partitions of whole columns of keys. One by one: ``penstock.model.partitioning``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.partitioning import MURMUR2_MIX, MURMUR2_SEED, partition_for


def partitions_for(keys: Sequence[bytes], partitions: int) -> NDArray[np.int64]:
    """Gives the partition of every key: ``partition_for``, for a whole column.

    >>> partitions_for([b"ann", b"bob", b"ann"], 12).tolist()
    [2, 6, 2]
    """
    encoded = pa.array(keys, pa.binary()).dictionary_encode()
    places = partitions_of(encoded.dictionary.to_pylist(), partitions)
    found: NDArray[np.int64] = places[encoded.indices.to_numpy()]
    return found


def partitions_of(keys: Sequence[bytes], partitions: int) -> NDArray[np.int64]:
    """The same for keys that are different from each other."""
    if partitions < 1:
        partition_for(b"", partitions)
    found: NDArray[np.int64] = (murmur2_all(keys) & 0x7FFF_FFFF).astype(np.int64) % partitions
    return found


def murmur2_all(keys: Sequence[bytes]) -> NDArray[np.uint32]:
    """The hash of every key, unsigned: those of one length are hashed together."""
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    hashes = np.empty(len(keys), np.uint32)
    for size in np.unique(sizes).tolist():
        (chosen,) = np.nonzero(sizes == size)
        data = b"".join([keys[n] for n in chosen.tolist()])
        table = np.frombuffer(data, np.uint8).reshape(len(chosen), size)
        hashes[chosen] = _murmur2_table(table)
    return hashes


def _murmur2_table(table: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The hash of every row. Products wrap around at 32 bits, as they should."""
    count, size = table.shape
    whole = size & ~3
    words = np.ascontiguousarray(table[:, :whole]).view("<u4").astype(np.uint32)
    mix = np.uint32(MURMUR2_MIX)
    h = np.full(count, MURMUR2_SEED ^ size, np.uint32)
    for column in range(whole // 4):
        k = words[:, column] * mix
        h = h * mix ^ (k ^ k >> np.uint32(24)) * mix
    if whole != size:
        tail = np.zeros(count, np.uint32)
        for place in range(size - whole):
            tail |= table[:, whole + place].astype(np.uint32) << np.uint32(8 * place)
        h = (h ^ tail) * mix
    h = (h ^ h >> np.uint32(13)) * mix
    result: NDArray[np.uint32] = h ^ h >> np.uint32(15)
    return result
