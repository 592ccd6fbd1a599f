"""Which partition a key belongs to: the hash and the rule of Kafka's default partitioner."""

from __future__ import annotations

import struct

from penstock.errors import InvalidArgumentError

_MASK = 0xFFFFFFFF
MURMUR2_MIX = 0x5BD1E995
MURMUR2_SEED = 0x9747B28C

_words = struct.Struct("<I").iter_unpack


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit Murmur2 hash as Java's signed int.

    >>> murmur2(b"foobar")
    -790332482
    """
    h = _unsigned_murmur2(data)
    return h - 0x1_0000_0000 if h > 0x7FFF_FFFF else h


def partition_for(key: bytes, partitions: int) -> int:
    """Return the partition that Kafka's default partitioner chooses for a serialized key.

    >>> partition_for(b"ann", 12)
    2
    """
    if partitions < 1:
        raise InvalidArgumentError(
            "bad-partition-count",
            f"a topic cannot have {partitions} partitions",
            fix="give a partition count of 1 or more",
        )
    # Kafka clears the sign bit; taking the absolute value would move half of all keys.
    return (_unsigned_murmur2(key) & 0x7FFF_FFFF) % partitions


def _unsigned_murmur2(data: bytes) -> int:
    size = len(data)
    whole = size & ~3
    h = MURMUR2_SEED ^ size
    for (k,) in _words(data[:whole]):
        k = k * MURMUR2_MIX & _MASK
        # One mask serves both products: it distributes over exclusive or.
        h = (h * MURMUR2_MIX ^ (k ^ k >> 24) * MURMUR2_MIX) & _MASK
    if whole != size:
        h = (h ^ int.from_bytes(data[whole:], "little")) * MURMUR2_MIX & _MASK
    h = (h ^ h >> 13) * MURMUR2_MIX & _MASK
    return h ^ h >> 15
