"""Murmur2 and the default partitioner, against results of Java's kafka-clients 4.1.0."""

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.partitioning import murmur2, partition_for

# From Kafka's own UtilsTest.
PUBLISHED = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}

TEXT = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
#: Java's hash of the first 0, 1, 2, ... bytes of TEXT.
HASHES = [
    275646681,
    -1563381124,
    316155434,
    479470107,
    -1323649548,
    461995741,
    1870650108,
    -346467175,
    -955427363,
    -619679810,
    8205847,
    -232389549,
    -535286937,
    387415655,
    1842055212,
    1680674526,
    -253887988,
    1490128915,
    816947939,
    111171840,
    844227805,
    -453960039,
    1468706745,
    228249217,
    -1567535427,
    1451477934,
    1196651483,
    1506090818,
    95143817,
    -1378360990,
    278809280,
    -1228165634,
    -110161567,
    2068871330,
    -2065427898,
    -279855483,
    1401619446,
    -685444765,
    -1332615625,
    -1466544307,
    -1798849638,
]

HIGH = bytes(range(255, -1, -1))
#: Java's hash of the first bytes of HIGH, by their number: here Java's bytes are negative.
HIGH_HASHES = {
    1: -311467685,
    2: 1717632651,
    3: 998637092,
    4: 2136149935,
    5: 524068735,
    7: -166236347,
    8: 2069784301,
    15: 1830479359,
    16: 397513979,
    17: 577128504,
    31: 475946582,
    33: 1912910142,
    255: -788971837,
    256: -1141900935,
}

#: Java's partitions for 1, 3, 12 and 100 partitions.
PARTITIONS = {
    "": (0, 0, 9, 81),
    "ann": (0, 2, 2, 74),
    "bob": (0, 0, 6, 58),
    "order-123": (0, 1, 1, 53),
    "日本": (0, 0, 3, 27),
}


@pytest.mark.parametrize(("data", "expected"), PUBLISHED.items())
def test_published_vector_gives_the_published_hash(data: bytes, expected: int) -> None:
    """Kafka's own test values hold."""
    assert murmur2(data) == expected


def test_every_length_gives_javas_hash() -> None:
    """The bytes after the last whole word count at each of the four alignments."""
    assert [murmur2(TEXT[:size]) for size in range(len(HASHES))] == HASHES


def test_high_bytes_give_javas_hash() -> None:
    """Bytes above 127 are negative in Java and must not be sign-extended."""
    assert {size: murmur2(HIGH[:size]) for size in HIGH_HASHES} == HIGH_HASHES


@pytest.mark.parametrize(("key", "expected"), PARTITIONS.items())
def test_key_goes_to_javas_partition(key: str, expected: tuple[int, ...]) -> None:
    """A Java producer and this one agree on the partition of a key."""
    assert tuple(partition_for(key.encode(), count) for count in (1, 3, 12, 100)) == expected


@pytest.mark.parametrize("count", [0, -1])
def test_partition_count_below_one_is_refused(count: int) -> None:
    """There is no partition to choose."""
    with pytest.raises(InvalidArgumentError) as caught:
        partition_for(b"k", count)
    assert caught.value.code == "bad-partition-count"
