"""Records that repeat an earlier one: ``deduplicate_by_key`` and ``deduplicate_by_key_value``."""

from typing import Any

import pytest

from penstock import Deduplicated, KStream, StreamsBuilder, Topology
from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.testing import rows
from tests.operators.driver import Driver


def once_a_minute() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").deduplicate_by_key("1m").to("out")
    return builder.build()


def by_first_letter() -> Topology:
    builder = StreamsBuilder()
    stream: KStream[Any, Any] = builder.stream("in")
    stream.deduplicate_by_key_value(_first_letter, "1m", "once").to("out")
    return builder.build()


def _first_letter(key: str, value: str) -> str | None:
    return None if value == "-" else value[0]


def test_a_key_comes_once_within_the_interval(driver: Driver) -> None:
    """The interval begins with the first record; a record at its very end is a duplicate."""
    driver.start(once_a_minute())
    driver.pipe(
        "in",
        """
        key | value | time
        ann | 1     | 0:10
        ann | 2     | 0:40     # does not prolong the interval
        bob | 3     | 0:40
        ann | 4     | 1:10
        ann | 5     | 1:10.001
        ann | 6     | 1:20
        """,
    )
    assert driver.read("out") == rows("""
        key | value | time
        ann | 1     | 0:10
        bob | 3     | 0:40
        ann | 5     | 1:10.001
    """)
    assert driver.dropped() == {"duplicate": 3}


def test_late_duplicate_is_dropped_while_the_first_record_is_remembered(driver: Driver) -> None:
    """Which of two records is first is decided by arrival, and their distance by their times."""
    driver.start(once_a_minute())
    driver.pipe(
        "in",
        """
        key | value | time
        ann | 1     | 2:30
        bob | 2     | 3:20
        ann | 3     | 1:40     # 50 s before the first
        ann | 4     | 1:20     # more than a minute before the first, so it is another one
        cid | 5     | 1:00     # too old to be remembered
        cid | 6     | 1:00
        ann | 7     | 2:40
        """,
    )
    assert [row.cells["value"] for row in driver.read("out")] == ["1", "2", "4", "5", "6"]


def test_stream_time_ends_the_interval(driver: Driver) -> None:
    """Another key moves the time on, also for a record that is not far from the first."""
    driver.start(once_a_minute())
    driver.pipe("in", "key | value | time\nann | 1 | 0:10\nbob | 2 | 1:30\nann | 3 | 0:50")
    assert [row.cells["value"] for row in driver.read("out")] == ["1", "2", "3"]


def test_records_without_a_key_or_an_id_are_never_duplicates(driver: Driver) -> None:
    """Nothing says that they are equal."""
    driver.start(by_first_letter())
    driver.pipe("in", "key | value\nnull | x\nnull | x\nann | -\nann | -")
    assert len(driver.read("out")) == 4
    assert driver.dropped() == {}


def test_id_counts_together_with_the_key(driver: Driver) -> None:
    """The same id under another key is another record."""
    driver.start(by_first_letter())
    driver.pipe("in", "key | value\nann | xy\nann | xz\nann | y\nbob | xy")
    assert driver.read("out") == rows("key | value\nann | xy\nann | y\nbob | xy")


def test_records_that_one_record_became_are_duplicates(driver: Driver) -> None:
    """They have one offset, and yet the second is not the first one read again."""
    builder = StreamsBuilder()
    words = builder.stream("in").flat_map_values(lambda line: line.split())
    words.deduplicate_by_key_value(lambda key, word: word, "1m").to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | a b a")
    assert driver.read("out") == rows("key | value\nann | a\nann | b")


def test_changed_keys_meet_in_one_task(driver: Driver) -> None:
    """The stream is repartitioned, under the name of the deduplication."""
    builder = StreamsBuilder()
    by_value = builder.stream("in").select_key(lambda key, value: None if value == "-" else value)
    by_value.deduplicate_by_key("1m", Deduplicated.as_("once")).to("out")
    topology = builder.build()
    assert "once-repartition" in str(topology.describe())
    driver.start(topology)
    driver.pipe("in", "key | value\nann | x\nbob | x\ncid | -\ndan | -")
    assert len(driver.read("out")) == 3
    with driver.store("once").all() as kept:
        assert [windowed.key for windowed, _ in kept] == ["x"]


def test_names_may_be_generated_or_given() -> None:
    """The name is that of processor and store, unless the store has its own."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.deduplicate_by_key("1m")
    stream.deduplicate_by_key("1m", name="a")
    stream.deduplicate_by_key("1m", Deduplicated.as_("b").with_store_name("seen"))
    text = str(builder.build().describe())
    generated = "KSTREAM-DEDUPLICATE-STATE-STORE-0000000002"
    assert f"KSTREAM-DEDUPLICATE-0000000001 (stores: [{generated}])" in text
    assert "a (stores: [a])" in text
    assert "b (stores: [seen])" in text


def test_interval_and_selector_are_checked() -> None:
    """An interval of nothing would forget a record at once."""
    stream: KStream[Any, Any] = StreamsBuilder().stream("in")
    with pytest.raises(InvalidArgumentError, match="bad-interval"):
        stream.deduplicate_by_key(0)
    with pytest.raises(NullArgumentError, match="finds the id"):
        stream.deduplicate_by_key_value(None, "1m")  # type: ignore[arg-type]
