"""``StoreQueryParameters`` choose partitions and timestamps: ``query.parameters``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import (
    Materialized,
    SessionWindows,
    Stores,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyTestDriver,
)
from penstock import ValueAndTimestamp as At
from penstock.errors import InvalidArgumentError
from penstock.query import QueryableStoreType, QueryableStoreTypes, StoreQueryParameters

PARTITIONS = {"in": 3}
KEY_VALUE = QueryableStoreTypes.key_value_store()


def topology() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by(lambda _, word: word)
    grouped.count("counts")
    grouped.windowed_by(TimeWindows.of_size_with_no_grace("10s")).count("windows")
    grouped.windowed_by(SessionWindows.of_inactivity_gap_with_no_grace("5s")).count("sessions")
    return builder.build()


def asked(name: str, kind: QueryableStoreType) -> StoreQueryParameters:
    return StoreQueryParameters.from_name_and_type(name, kind)


def test_timestamped_stores_are_read_with_or_without_timestamps() -> None:
    """One store, two ways to read it, as in Java; tables have the time as a column in both."""
    timestamped = QueryableStoreTypes.timestamped_key_value_store()
    with TopologyTestDriver(topology(), num_partitions=PARTITIONS) as driver:
        driver.pipe_input("in", None, "a", 7)
        plain, timed = (driver.store(asked("counts", each)) for each in (KEY_VALUE, timestamped))
        assert dict(plain.all()) == {"a": 1}
        assert dict(timed.all()) == {"a": At(1, 7)}
        assert timed["a"] == At(1, 7)
        assert timed.to_arrow() == plain.to_arrow()


def test_timestamped_windows_are_read_with_or_without_timestamps() -> None:
    """Ranges and single windows alike."""
    window, timed_window = (
        QueryableStoreTypes.window_store(),
        QueryableStoreTypes.timestamped_window_store(),
    )
    with TopologyTestDriver(topology(), num_partitions=PARTITIONS) as driver:
        driver.pipe_input("in", None, "a", 7)
        assert driver.store(asked("windows", window)).fetch("a", 0, 9) == [(0, 1)]
        timed = driver.store(asked("windows", timed_window))
        assert timed.fetch("a", 0, 9) == [(0, At(1, 7))]
        assert timed.fetch("a", 0) == At(1, 7)


@given(words=st.lists(st.text("abcdefgh", min_size=1, max_size=2), max_size=12))
def test_partitions_together_are_the_whole_store(words: list[str]) -> None:
    """Every key is in one of them, and none of them knows the keys of another."""
    with TopologyTestDriver(topology(), num_partitions=PARTITIONS) as driver:
        driver.pipe("in", *words)
        whole = dict(driver.store("counts").all())
        parts = [driver.store(asked("counts", KEY_VALUE).with_partition(n)) for n in range(3)]
        entries = [entry for part in parts for entry in part.all()]
        assert len(entries) == len(whole)
        assert dict(entries) == whole
        assert [len(part) for part in parts] == [part.approximate_num_entries() for part in parts]
        for word in words:
            assert sorted(str(part.get(word)) for part in parts) == [
                *sorted([str(whole[word]), "None", "None"])
            ]


def test_windows_of_a_key_in_another_partition_are_an_empty_list() -> None:
    """Not None, which means that there is no such window."""
    kind = QueryableStoreTypes.window_store()
    with TopologyTestDriver(topology(), num_partitions=PARTITIONS) as driver:
        driver.pipe_input("in", None, "a", 7)
        home = driver.store("windows").partition_of("a")
        found = [
            driver.store(asked("windows", kind).with_partition(n)).fetch("a", 0, 9)
            for n in range(3)
        ]
        assert found == [[(0, 1)] if n == home else [] for n in range(3)]


@pytest.mark.parametrize(
    ("name", "kind", "fix"),
    [
        ("windows", KEY_VALUE, "use QueryableStoreTypes.window_store()"),
        ("sessions", QueryableStoreTypes.window_store(), "use QueryableStoreTypes.session_store()"),
        ("counts", QueryableStoreTypes.session_store(), "QueryableStoreTypes.key_value_store()"),
    ],
)
def test_type_that_does_not_fit_is_refused_with_the_one_that_does(
    name: str, kind: QueryableStoreType, fix: str
) -> None:
    """Otherwise the first read would fail, far from here."""
    with (
        TopologyTestDriver(topology()) as driver,
        pytest.raises(InvalidArgumentError) as error,
    ):
        driver.store(asked(name, kind))
    assert error.value.code == "wrong-store-type"
    assert fix in str(error.value)


def test_versioned_store_is_read_by_its_name_alone() -> None:
    """Java has no type for it either."""
    builder = StreamsBuilder()
    kept = Stores.persistent_versioned_key_value_store("prices", "1h")
    builder.table("in", materialized=Materialized.as_(kept))
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(InvalidArgumentError, match="its name alone"),
    ):
        driver.store(asked("prices", KEY_VALUE))


@pytest.mark.parametrize("partition", [3, -1])
def test_partition_that_is_not_there_is_refused(partition: int) -> None:
    """An empty answer would look like a store without entries."""
    with (
        TopologyTestDriver(topology(), num_partitions=PARTITIONS) as driver,
        pytest.raises(InvalidArgumentError, match="from 0 to 2") as error,
    ):
        driver.store(asked("counts", KEY_VALUE).with_partition(partition))
    assert error.value.code == "no-partition"


def test_a_function_instead_of_its_result_is_refused() -> None:
    """``key_value_store`` without the parentheses is an easy slip."""
    forgotten: Any = QueryableStoreTypes.key_value_store
    with pytest.raises(InvalidArgumentError, match=r"key_value_store\(\)") as error:
        asked("counts", forgotten)
    assert error.value.code == "not-a-store-type"
