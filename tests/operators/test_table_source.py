"""A topic as a table.

Exercises ``table_source_columns``.
"""

from penstock import Materialized, Stores, StreamsBuilder
from penstock.testing import rows
from tests.operators.driver import Driver


def test_last_value_of_a_key_is_its_row(driver: Driver) -> None:
    """TOP-3: a null value deletes the row, a null key is dropped."""
    builder = StreamsBuilder()
    builder.table("in", materialized="rows").to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | b\nbob | c\nbob | null\nnull | d")
    assert driver.read("out")[-1:] == rows("key | value\nbob | null")
    assert [(key, row.value) for key, row in driver.store("rows").all()] == [("ann", "b")]
    assert driver.dropped() == {"null-key": 1}


def test_late_update_wins(driver: Driver) -> None:
    """Rows follow the order of the topic, not the time of the records, as in Kafka Streams."""
    builder = StreamsBuilder()
    builder.table("in", materialized="rows")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | new | 0:09\nann | old | 0:01")
    assert driver.store("rows").get("ann") == ("old", 1_000)


def test_stream_becomes_a_table(driver: Driver) -> None:
    """to_table takes each record as the new value of its key."""
    builder = StreamsBuilder()
    builder.stream("in").to_table("rows").to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a\nann | null")
    assert driver.read("out") == rows("key | value\nann | a\nann | null")
    assert list(driver.store("rows").all()) == []


def test_table_without_readers_has_no_store(driver: Driver) -> None:
    """A store costs a changelog; only a name, or someone who looks rows up, makes one."""
    builder = StreamsBuilder()
    builder.table("in").to_stream().to("out")
    driver.start(builder.build())
    assert driver.inner.state_store_names() == []


def test_row_older_than_the_history_is_dropped(driver: Driver) -> None:
    """A versioned table takes late rows as long as its history is; a row of that age is taken."""
    builder = StreamsBuilder()
    history = Stores.persistent_versioned_key_value_store("rows", "5s")
    builder.table("in", materialized=Materialized.as_(history)).to_stream().to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 0:10\nbob | b | 0:05\nbob | c | 0:04.999")
    assert driver.read("out") == rows("key | value | time\nann | a | 0:10\nbob | b | 0:05")
    assert driver.dropped() == {"expired-version": 1}
