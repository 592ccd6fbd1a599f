"""``driver.store(name)`` reads as ``streams.store(name)`` does, over all partitions."""

from collections.abc import Callable

import pytest

from penstock import (
    Materialized,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyTestDriver,
)
from penstock.errors import InvalidArgumentError
from penstock.runtime.spark.driver.stores.store_view import StoreView


def counting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda _, word: word).count("counts")
    return builder.build()


@pytest.mark.parametrize("partitions", [{}, {"in": 3}])
def test_key_value_store_is_read_like_a_dict(partitions: dict[str, int]) -> None:
    """All partitions together, in the order of keys; timestamps are a column of the table."""
    with TopologyTestDriver(counting(), num_partitions=partitions) as driver:
        driver.pipe("in", *"banana")
        store = driver.store("counts")
        assert isinstance(store, StoreView)
        assert store["a"] == store.get("a") == 3
        assert "x" not in store
        assert store.get("x") is None
        assert dict(store.items()) == {"a": 3, "b": 1, "n": 2}
        assert [key for key, _ in store.all()] == ["a", "b", "n"]
        assert list(store.reverse_range("a", "b")) == [("b", 1), ("a", 3)]
        assert len(store) == store.approximate_num_entries() == 3
        assert store.to_arrow().column_names == ["key", "value", "timestamp"]
        with pytest.raises(KeyError):
            store["x"]


WINDOWS = TimeWindows.of_size_with_no_grace("10s")
SESSIONS = SessionWindows.of_inactivity_gap_with_no_grace("5s")


def windowed(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().windowed_by(WINDOWS).count("counts")


def sessions(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().windowed_by(SESSIONS).count("counts")


@pytest.mark.parametrize(
    ("add", "expected"), [(windowed, [(0, 2), (20_000, 1)]), (sessions, [(1_000, 2), (21_000, 1)])]
)
def test_windows_and_sessions_are_fetched(
    add: Callable[[StreamsBuilder], None], expected: list[tuple[int, int]]
) -> None:
    """A window is found by its start, a session by its bounds."""
    builder = StreamsBuilder()
    add(builder)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in", ("k", "x", 1_000), ("k", "x", 2_000), ("k", "x", 21_000))
        rows = list(driver.store("counts").all())
    assert [(key.window.start, value) for key, value in rows] == expected


def test_global_table_has_one_view() -> None:
    builder = StreamsBuilder()
    builder.global_table("names", materialized=Materialized.as_("names"))
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), num_partitions={"in": 2}) as driver:
        driver.pipe("names", ("a", "Ann"))
        assert driver.store("names")["a"] == "Ann"


def test_unknown_store_names_those_there_are() -> None:
    with (
        TopologyTestDriver(counting()) as driver,
        pytest.raises(InvalidArgumentError, match="count") as raised,
    ):
        driver.store("count")
    assert raised.value.code == "unknown-store"
