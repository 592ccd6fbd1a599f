"""``streams.store(name)`` over real stores: every reading method, over all partitions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.frames.arrow_types import INSTANT
from penstock.model.partitioning import partition_for
from penstock.model.windows.windowed import Window, Windowed
from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.runtime.spark.worker.queries import read_rows
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kit import Task

PARTITIONS = 2
KEYS = ["ann", "anton", "bea", "carl", "dora"]


class Parts:
    """The partitions of one store, filled as their tasks would."""

    def __init__(self, kind: StoreKind) -> None:
        serde = ps.Serdes.string()
        self._spec = StoreSpec(
            name="s", kind=kind, key_serde=serde, value_serde=ps.Serdes.long(),
            window_size_ms=10, retention_ms=1000, segment_interval_ms=100,
            history_retention_ms=1000,
        )  # fmt: skip
        self._stores: list[Any] = [open_store(self._spec, Task().env) for _ in range(PARTITIONS)]
        config = ps.StreamsConfig({"application.id": "app"})
        self.view = StoreView(self._spec, PARTITIONS, config, self)

    def of(self, key: str) -> Any:
        return self._stores[partition_for(key.encode(), PARTITIONS)]

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return read_rows(self._stores[partition], method, arguments)


@pytest.fixture
def table() -> StoreView:
    parts = Parts(StoreKind.KEY_VALUE)
    for number, key in enumerate(KEYS):
        parts.of(key).put(key, number)
    assert len({partition_for(key.encode(), PARTITIONS) for key in KEYS}) == PARTITIONS
    return parts.view


def keys(entries: Any) -> list[Any]:
    return [key for key, _ in entries]


def test_a_key_value_store_is_read_in_both_directions(table: StoreView) -> None:
    assert keys(table.all()) == KEYS
    assert keys(table.reverse_all()) == KEYS[::-1]
    assert keys(table.range("anton", "carl")) == ["anton", "bea", "carl"]
    assert keys(table.reverse_range("anton", "carl")) == ["carl", "bea", "anton"]
    assert list(table.reverse_range(None, "ann")) == [("ann", 0)]


def test_a_prefix_is_written_by_the_stores_own_serde_or_by_another_one(table: StoreView) -> None:
    assert list(table.prefix_scan("an")) == [("ann", 0), ("anton", 1)]
    assert keys(table.prefix_scan(b"b", bytes)) == ["bea"]
    assert keys(table.prefix_scan("d", ps.Serdes.string())) == ["dora"]
    assert keys(table.prefix_scan("x")) == []
    with pytest.raises(InvalidArgumentError, match="bad-prefix"):
        table.prefix_scan(7)


@pytest.fixture(params=[StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW])
def windows(request: pytest.FixtureRequest) -> StoreView:
    parts = Parts(request.param)
    is_timestamped = request.param is StoreKind.TIMESTAMPED_WINDOW
    for number, key in enumerate(KEYS):
        for start in (0, 10, 20):
            value = number + start
            timed = ps.ValueAndTimestamp(value, start) if is_timestamped else value
            parts.of(key).put(key, timed, start)
    return parts.view


def windowed(key: str, start: int) -> Windowed[str]:
    return Windowed(key, Window(start, start + 10))


def starts(entries: Any, key: str) -> list[int]:
    return [each.start for each in keys(entries) if each.key == key]


def test_all_windows_are_read_in_both_directions(windows: StoreView) -> None:
    """In the order of the store, which keeps the windows of a key by time."""
    every = {windowed(key, start) for start in (0, 10, 20) for key in KEYS}
    assert set(keys(windows.all())) == set(keys(windows.reverse_all())) == every
    assert starts(windows.all(), "bea") == [0, 10, 20]
    assert starts(windows.reverse_all(), "bea") == [20, 10, 0]
    assert starts(windows.fetch_all(10, 20), "bea") == [10, 20]
    assert starts(windows.backward_fetch_all(10, 20), "bea") == [20, 10]


def test_windows_of_keys_are_read_in_both_directions(windows: StoreView) -> None:
    """Values come without their timestamps."""
    assert windows.fetch("bea", 10) == 12
    assert windows.fetch("bea", 0, 10) == [(0, 2), (10, 12)]
    assert windows.backward_fetch("bea", 0, 10) == [(10, 12), (0, 2)]
    assert starts(windows.fetch_range("anton", "bea", 10, 20), "anton") == [10, 20]
    assert starts(windows.backward_fetch_range("anton", "bea", 10, 20), "bea") == [20, 10]
    assert starts(windows.fetch_range("anton", "bea", 10, 20), "carl") == []
    assert dict(windows.fetch_range("bea", "bea", 20, 20)) == {windowed("bea", 20): 22}


def test_sessions_are_read_in_both_directions() -> None:
    parts = Parts(StoreKind.SESSION)
    spans = [(0, 5), (20, 25), (40, 41)]
    for number, key in enumerate(KEYS):
        for start, end in spans:
            parts.of(key).put(Windowed(key, Window(start, end)), number)
    view = parts.view
    bea = [Windowed("bea", Window(*span)) for span in spans]
    assert keys(view.fetch("bea")) == bea
    assert keys(view.backward_fetch("bea")) == bea[::-1]
    assert keys(view.find_sessions("bea", 10, 30)) == bea[1:2]
    assert keys(view.backward_find_sessions("bea", 0, 30)) == bea[1::-1]
    assert view.fetch_session("bea", 20, 25) == 2
    assert view.fetch_session("bea", 20, 26) is None
    assert len(keys(view.all())) == len(keys(view.reverse_all())) == len(KEYS) * len(spans)
    two = set(keys(view.fetch_range("anton", "bea")))
    assert two == set(keys(view.backward_fetch_range("anton", "bea")))
    assert {each.key for each in two} == {"anton", "bea"}


def test_a_versioned_store_is_read_as_of_a_time() -> None:
    parts = Parts(StoreKind.VERSIONED_KEY_VALUE)
    parts.of("ann").put("ann", 1, 10)
    parts.of("ann").put("ann", 2, 20)
    assert parts.view.get("ann").value == 2
    assert parts.view.get("ann", as_of=15).value == 1
    assert parts.view.get("ann", as_of=5) is None


def test_a_method_that_is_none_of_reading_is_refused() -> None:
    parts = Parts(StoreKind.KEY_VALUE)
    with pytest.raises(InvalidArgumentError, match="unknown-query"):
        parts.view.call(0, "put", ("ann", 1))


def test_a_store_is_a_table_with_the_times_that_it_keeps() -> None:
    """Real columns, in Arrow, pandas and Polars; no Spark is needed."""
    parts = Parts(StoreKind.TIMESTAMPED_KEY_VALUE)
    parts.of("ann").put("ann", (7, 1_000))
    table = parts.view.to_arrow()
    assert table.schema == pa.schema(
        {"key": pa.string(), "value": pa.int64(), "timestamp": INSTANT}
    )
    assert table.to_pylist() == [
        {"key": "ann", "value": 7, "timestamp": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}
    ]
    assert parts.view.to_polars().columns == ["key", "value", "timestamp"]


def test_windows_and_sessions_are_tables_with_bounds(windows: StoreView) -> None:
    names = ["key", "window_start", "window_end", "value"]
    table = windows.to_arrow()
    assert table.column_names[:4] == names
    assert table.num_rows == len(list(windows.all()))
    sessions = Parts(StoreKind.SESSION).view.to_arrow()
    assert sessions.column_names == names
