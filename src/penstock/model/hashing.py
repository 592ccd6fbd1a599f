"""The 128-bit Murmur3 hash of Kafka Streams' foreign-key join, which detects stale answers."""

from __future__ import annotations

import struct

_MASK = 2**64 - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
# Kafka Streams uses its own seed, not zero. Hashes are sent to other instances, so it must match.
_SEED = 104729

_BLOCKS = struct.Struct("<QQ")
_RESULT = struct.Struct(">QQ")


def murmur3_128(data: bytes) -> bytes:
    """Return Java's two longs of the hash, one after the other, each in big-endian order.

    >>> murmur3_128(b"value").hex()
    '2e7425dec1f8bcdf51e014f04aa41568'
    """
    size = len(data)
    whole = size & ~15
    h1 = h2 = _SEED
    for k1, k2 in _BLOCKS.iter_unpack(data[:whole]):
        h1 ^= _scramble1(k1)
        h1 = ((h1 << 27 | h1 >> 37) + h2) * 5 + 0x52DCE729 & _MASK
        h2 ^= _scramble2(k2)
        h2 = ((h2 << 31 | h2 >> 33) + h1) * 5 + 0x38495AB5 & _MASK
    # A missing byte at the end counts as zero, and zero stays zero in all steps.
    h1 ^= _scramble1(int.from_bytes(data[whole : whole + 8], "little")) ^ size
    h2 ^= _scramble2(int.from_bytes(data[whole + 8 :], "little")) ^ size
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = h1 + h2 & _MASK
    return _RESULT.pack(h1, h2 + h1 & _MASK)


# A shift to the left leaves bits above the 64th. They may stay until the next mask, because sums
# and products do not carry downwards.
def _scramble1(block: int) -> int:
    block = block * _C1 & _MASK
    return (block << 31 | block >> 33) * _C2 & _MASK


def _scramble2(block: int) -> int:
    block = block * _C2 & _MASK
    return (block << 33 | block >> 31) * _C1 & _MASK


def _finish(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & _MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return h ^ h >> 33
