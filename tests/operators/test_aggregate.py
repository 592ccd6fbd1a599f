"""Count, reduce and aggregate without windows.

Exercises ``aggregate_columns``.
"""

from typing import Any

from penstock import Materialized, StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def sums(**options: Any) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", key=str, value=int).group_by_key()
    summed = grouped.aggregate(lambda: 0, lambda key, value, total: total + value, **options)
    summed.to_stream().to("out")
    return builder.build()


def test_each_record_updates_the_aggregate_of_its_key(driver: Driver) -> None:
    """The result is a table whose changes are its output."""
    driver.start(sums(value=int))
    driver.pipe("in", "key | value\nann | 1\nbob | 2\nann | 3")
    assert driver.read("out") == rows("key | value\nann | 1\nbob | 2\nann | 4")


def test_null_keys_and_null_values_are_dropped(driver: Driver) -> None:
    """TOP-3: in a stream a null value is no tombstone; it changes nothing."""
    driver.start(sums(value=int))
    driver.pipe("in", "key | value\nann | 1\nann | null\nnull | 5")
    assert driver.read("out") == rows("key | value\nann | 1")
    assert driver.dropped() == {"null-key-or-value": 2}


def test_result_of_none_deletes_the_row(driver: Driver) -> None:
    """TB-07: the next record starts from the initializer, and from its own time."""
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    last = grouped.aggregate(
        str, lambda key, value, sofar: None if value == "-" else sofar + value, "last"
    )
    last.to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:09\nann | - | 0:01\nann | b | 0:02")
    assert driver.read("out") == rows("""
        key | value
        ann | a
        ann | null
        ann | b
    """)
    assert driver.store("last").get("ann").timestamp == 2_000


def test_result_carries_the_highest_time_so_far(driver: Driver) -> None:
    """KS-26: a late record counts, but does not turn the time of the row back."""
    driver.start(sums(value=int))
    driver.pipe("in", "key | value | time\nann | 1 | 0:09\nann | 1 | 0:05")
    assert driver.read("out") == rows("key | value | time\nann | 1 | 0:09\nann | 2 | 0:09")


def test_reduce_starts_with_the_first_value(driver: Driver) -> None:
    """The reducer sees the aggregate first, then the value, and never None."""
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().reduce(lambda sofar, value: sofar + value).to_stream().to(
        "out"
    )
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | b")
    assert driver.read("out") == rows("key | value\nann | a\nann | ab")


def test_store_is_on_disk_unless_asked_otherwise(driver: Driver) -> None:
    """XX-02: Materialized without a word about it means RocksDB, as in Java."""
    driver.start(sums(materialized="sums", value=int))
    assert driver.store("sums").persistent
    in_memory: Materialized[str, int] = Materialized(name="sums", store_type="in_memory")
    driver.start(sums(materialized=in_memory, value=int))
    assert not driver.store("sums").persistent
