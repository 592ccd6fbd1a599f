"""Timestamped stores seen without their timestamps."""

from typing import Any

import pytest

from penstock import Stores, ValueAndTimestamp, Windowed
from penstock.state.plain_view import NO_TIMESTAMP, plain_view
from penstock.state.spec import StoreKind
from penstock.testing import MockProcessorContext

KEY_VALUE = Stores.timestamped_key_value_store_builder(
    Stores.in_memory_key_value_store("rows"), "string", "long"
)
WINDOWS = Stores.timestamped_window_store_builder(
    Stores.in_memory_window_store("windows", 60_000, 10_000), "string", "long"
)


@pytest.fixture
def rows() -> Any:
    return MockProcessorContext().add_state_store(KEY_VALUE)


def test_reads_give_values_without_their_times(rows: Any) -> None:
    """Whoever asks for a plain store wants no timestamps, in no method."""
    rows.put("a", ValueAndTimestamp(1, 10))
    rows.put("b", ValueAndTimestamp(2, 20))
    view = plain_view(rows)
    assert (view.kind, view.get("a"), view["b"], view.get("c")) == (StoreKind.KEY_VALUE, 1, 2, None)
    assert list(view.all()) == list(view.range("a", "b")) == [("a", 1), ("b", 2)]
    assert list(view.reverse_all()) == list(view.reverse_range(None, None)) == [("b", 2), ("a", 1)]
    assert list(view.prefix_scan("a", str.encode)) == [("a", 1)]
    assert ("a" in view, list(view), view.approximate_num_entries()) == (True, ["a", "b"], 2)


def test_writes_carry_no_time(rows: Any) -> None:
    """As in Kafka Streams' test driver: a value put by hand has the time -1."""
    view = plain_view(rows)
    view["a"] = 1
    view.put_all([("b", 2), ("c", 3)])
    assert view.put_if_absent("a", 9) == 1
    assert view.delete("b") == 2
    del view["c"]
    view.put("d", None)
    assert list(rows.all()) == [("a", ValueAndTimestamp(1, NO_TIMESTAMP))]


def test_windows_give_values_without_their_times() -> None:
    """Of a window store as well, forwards and backwards."""
    store = MockProcessorContext().add_state_store(WINDOWS)
    store.put("a", ValueAndTimestamp(1, 5), 0)
    view = plain_view(store)
    view.put("a", 2, 10_000)
    assert (view.fetch("a", 0), view.fetch("b", 0)) == (1, None)
    assert list(view.fetch("a", 0, 10_000)) == [(0, 1), (10_000, 2)]
    assert list(view.backward_fetch("a", 0, 10_000)) == [(10_000, 2), (0, 1)]
    keys: list[tuple[Windowed[str], int]] = list(view.all())
    assert [(each.key, each.window.start, value) for each, value in keys] == [
        ("a", 0, 1),
        ("a", 10_000, 2),
    ]


def test_other_stores_stay_as_they_are() -> None:
    """A plain store has nothing to take off."""
    store = MockProcessorContext().add_state_store(
        Stores.key_value_store_builder(Stores.in_memory_key_value_store("s"), "string", "long")
    )
    assert plain_view(store) is store
