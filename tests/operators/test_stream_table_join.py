"""Looking a stream up in a table.

Exercises ``lookup_columns``.
"""

from penstock import Joined, Materialized, Stores, StreamsBuilder, Topology
from penstock.testing import rows
from tests.operators.driver import Driver


def joined(method: str = "join") -> Topology:
    builder = StreamsBuilder()
    join = getattr(builder.stream("in"), method)
    join(builder.table("table"), lambda one, other: f"{one}+{other}").to("out")
    return builder.build()


def test_only_the_stream_triggers_and_gives_the_time(driver: Driver) -> None:
    """KS-26: the result carries the stream's time, even if the row is newer."""
    driver.start(joined())
    driver.pipe("in", "key | value | time\nann | early | 0:01")
    driver.pipe("table", "key | value | time\nann | R | 0:09")
    driver.pipe("in", "key | value | time\nann | L | 0:05")
    assert driver.read("out") == rows("key | value | time\nann | L+R | 0:05")


def test_left_join_keeps_records_without_a_row(driver: Driver) -> None:
    """Null keys have no row either; null values are dropped."""
    driver.start(joined("left_join"))
    driver.pipe("in", "key | value\nann | L\nnull | L\nann | null")
    assert driver.read("out") == rows("key | value\nann | L+None\nnull | L+None")


def test_inner_join_drops_null_keys_and_values(driver: Driver) -> None:
    """TOP-3: there is nothing to look up, or nothing to join with."""
    driver.start(joined())
    driver.pipe("in", "key | value\nnull | L\nann | null")
    assert driver.dropped() == {"null-join-key-or-value": 2}


def test_table_is_as_of_the_smallest_timestamp_first(driver: Driver) -> None:
    """TOP-7: what arrives together is joined in the order of time, across both topics."""
    driver.start(joined())
    driver.inner.pipe_batch(
        {
            "in": "key | value | time\nann | before | 0:01\nann | after | 0:03",
            "table": "key | value | time\nann | R | 0:02",
        }
    )
    assert driver.read("out") == rows("key | value\nann | after+R")


def test_grace_waits_and_looks_into_the_past(driver: Driver) -> None:
    """With a versioned table a record sees the row as of its own time."""
    builder = StreamsBuilder()
    versions = Materialized.as_(Stores.persistent_versioned_key_value_store("rows", "1h"))
    table = builder.table("table", materialized=versions)
    how: Joined[str, str, str] = Joined(grace_period="10s")
    stream = builder.stream("in")
    stream.join(table, lambda one, other: f"{one}+{other}", joined=how).to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | L | 0:05")
    driver.pipe("table", "key | value | time\nann | new | 0:09\nann | old | 0:04")
    assert driver.read("out") == []
    driver.pipe("in", "key | value | time\nbob | x | 0:15")
    assert driver.read("out") == rows("key | value | time\nann | L+old | 0:05")
