"""The hash of ``model.hashing`` for a column of bytes: the same lines, over arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.model.hashing import murmur3_128

_Words = NDArray[np.uint64]

_BLOCK = 16
#: Fewer items than this are hashed one by one: calls of numpy cost more.
_FEW = 24

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_SEED = np.uint64(104729)
_FIVE, _ADD1, _ADD2 = np.uint64(5), np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_MIX1, _MIX2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


def murmur3_128_each(data: Sequence[bytes]) -> list[bytes]:
    """Return the hash of each item, as ``murmur3_128`` does.

    >>> murmur3_128_each([b"value"])[0].hex()
    '2e7425dec1f8bcdf51e014f04aa41568'
    """
    sizes = np.fromiter(map(len, data), np.int64, len(data))
    blocks = sizes // _BLOCK
    order = np.argsort(-blocks, kind="stable")
    # Of the few longest items, each has blocks that no other one has.
    shared = 0 if len(data) < _FEW else int(blocks[order[_FEW - 1]])
    alone = int((blocks > shared).sum())
    found: list[bytes] = [b""] * len(data)
    for place in order[:alone].tolist():
        found[place] = murmur3_128(data[place])
    rest = order[alone:]
    if len(rest) < _FEW:
        hashes = [murmur3_128(data[place]) for place in rest.tolist()]
    else:
        hashes = _hashes([data[place] for place in rest.tolist()], sizes[rest])
    for place, each in zip(rest.tolist(), hashes, strict=True):
        found[place] = each
    return found


def _hashes(data: Sequence[bytes], sizes: NDArray[np.int64]) -> list[bytes]:
    """Return the hashes of items, of which none has more whole blocks than the one before."""
    joined = np.frombuffer(b"".join([*data, bytes(_BLOCK)]), np.uint8)
    begins = np.cumsum(sizes) - sizes
    blocks = sizes // _BLOCK
    h1, h2 = np.full(len(data), _SEED), np.full(len(data), _SEED)
    for number in range(int(blocks[0])):
        count = int(np.searchsorted(-blocks, -number, side="left"))
        k1, k2 = _words(joined, begins[:count] + number * _BLOCK)
        one, other = h1[:count], h2[:count]
        one ^= _scrambled(k1, 31, _C1, _C2)
        one[:] = (_rotated(one, 27) + other) * _FIVE + _ADD1
        other ^= _scrambled(k2, 33, _C2, _C1)
        other[:] = (_rotated(other, 31) + one) * _FIVE + _ADD2
    k1, k2 = _words(joined, begins + blocks * _BLOCK, sizes - blocks * _BLOCK)
    lengths = sizes.astype(np.uint64)
    h1 ^= _scrambled(k1, 31, _C1, _C2) ^ lengths
    h2 ^= _scrambled(k2, 33, _C2, _C1) ^ lengths
    h1 += h2
    h2 += h1
    h1, h2 = _finished(h1), _finished(h2)
    h1 += h2
    h2 += h1
    both = np.stack([h1, h2], axis=1).astype(">u8")
    hashes: list[bytes] = both.view(f"V{_BLOCK}").reshape(-1).tolist()
    return hashes


def _words(
    joined: NDArray[np.uint8], begins: NDArray[np.int64], sizes: NDArray[np.int64] | None = None
) -> tuple[_Words, _Words]:
    """Return 16 bytes of each item as two numbers; bytes behind its end count as zero."""
    places = np.arange(_BLOCK)
    found = joined[begins[:, None] + places]
    if sizes is not None:
        found[places >= sizes[:, None]] = 0
    words = found.view("<u8").astype(np.uint64)
    return words[:, 0], words[:, 1]


def _rotated(words: _Words, by: int) -> _Words:
    return words << np.uint64(by) | words >> np.uint64(64 - by)


def _scrambled(words: _Words, by: int, before: np.uint64, after: np.uint64) -> _Words:
    return _rotated(words * before, by) * after


def _finished(words: _Words) -> _Words:
    words = (words ^ words >> np.uint64(33)) * _MIX1
    words = (words ^ words >> np.uint64(33)) * _MIX2
    return words ^ words >> np.uint64(33)
