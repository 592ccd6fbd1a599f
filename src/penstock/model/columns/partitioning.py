"""The partitions of whole columns of keys. One by one: ``penstock.model.partitioning``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.partitioning import MURMUR2_MIX, MURMUR2_SEED, partition_for

_MIX = np.uint32(MURMUR2_MIX)
#: Added behind the last key, so that four bytes can be read from every byte of a key.
_PADDING = bytes(4)


def partitions_for(
    keys: Sequence[bytes | None], partitions: int, *, without: int = 0
) -> NDArray[np.int64]:
    """Return the partition of every key: ``partition_for``, for a whole column.

    ``without`` is the number of bytes at the end of each key that do not count: the window of a
    windowed key. A key that is None counts as no bytes.

    >>> partitions_for([b"ann", b"bob", b"ann"], 12).tolist()
    [2, 6, 2]
    """
    if partitions < 1:
        partition_for(b"", partitions)
    hashes = murmur2_all(keys, without=without)
    found: NDArray[np.int64] = (hashes & 0x7FFF_FFFF).astype(np.int64) % partitions
    return found


def murmur2_all(keys: Sequence[bytes | None], *, without: int = 0) -> NDArray[np.uint32]:
    """Return the unsigned hash of every key; keys of one length are hashed together."""
    _, offsets, data = pa.array(keys, pa.large_binary()).buffers()
    ends = np.frombuffer(offsets, np.int64, len(keys) + 1)
    begins, sizes = ends[:-1], np.maximum(np.diff(ends) - without, 0)
    words = _words_at_every_byte(b"" if data is None else data)
    hashes = np.empty(len(keys), np.uint32)
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        hashes[chosen] = _murmur2(words, begins[chosen], size)
    return hashes


def _words_at_every_byte(data: bytes | pa.Buffer) -> NDArray[np.uint32]:
    """Return the four bytes from each byte on, as numbers."""
    padded = np.frombuffer(b"".join([memoryview(data), _PADDING]), np.uint8)
    shape, strides = (len(padded) - len(_PADDING) + 1, 4), (1, 1)
    return np.lib.stride_tricks.as_strided(padded, shape, strides)


def _murmur2(words: NDArray[np.uint32], begins: NDArray[np.int64], size: int) -> NDArray[np.uint32]:
    """Return the hashes of keys of this size. Products wrap around at 32 bits, as in Java."""
    h = np.full(len(begins), MURMUR2_SEED ^ size, np.uint32)
    whole = size & ~3
    for place in range(0, whole, 4):
        k = _read(words, begins + place) * _MIX
        h = h * _MIX ^ (k ^ k >> np.uint32(24)) * _MIX
    if whole != size:
        rest = np.uint32((1 << 8 * (size - whole)) - 1)
        h = (h ^ _read(words, begins + whole) & rest) * _MIX
    h = (h ^ h >> np.uint32(13)) * _MIX
    result: NDArray[np.uint32] = h ^ h >> np.uint32(15)
    return result


def _read(words: NDArray[np.uint32], places: NDArray[np.int64]) -> NDArray[np.uint32]:
    return words[places].view("<u4")[:, 0].astype(np.uint32)
