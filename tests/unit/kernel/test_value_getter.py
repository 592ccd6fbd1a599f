"""Reading rows of tables whose store is not a key-value store, or that have none.

Exercises ``table_store``.
"""

from typing import Any

import pytest

from penstock.errors import StoreError, UnsupportedOperationError
from penstock.kernel.value_getter import SuppressedRows, value_getter_for
from penstock.model.change import Change
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Suppress, TableGroupBy, TableNode, TablePassThrough
from tests.unit.kernel.several_nodes import SeveralNodes, rows, source, versions


def reading(node: TableNode, *specs: StoreSpec) -> SeveralNodes:
    task = SeveralNodes(source("t", "ts"), stores=(rows("ts"), *specs))
    task._nodes[node.name] = node
    return task


def stored(kind: StoreKind, **options: Any) -> StoreSpec:
    return StoreSpec(name="s", kind=kind, persistent=False, retention_ms=1_000, **options)


def test_window_table_is_read_by_windowed_key() -> None:
    """The store keeps the time of the update."""
    spec = stored(StoreKind.TIMESTAMPED_WINDOW, window_size_ms=10)
    task = reading(TableNode(name="w", store="s"), spec)
    task.stores["s"].put("a", ValueAndTimestamp("1", 25), 20)
    getter = value_getter_for(task, "w")
    assert getter.get(Windowed("a", Window(20, 30))) == ("1", 25)
    assert getter.get(Windowed("a", Window(30, 40))) is None
    assert not getter.is_versioned


def test_session_table_row_has_the_time_of_its_end() -> None:
    """A session store keeps no other time."""
    task = reading(TableNode(name="w", store="s"), stored(StoreKind.SESSION))
    task.stores["s"].put(Windowed("a", Window(20, 35)), "1")
    getter = value_getter_for(task, "w")
    assert getter.get(Windowed("a", Window(20, 35))) == ("1", 35)
    assert getter.get(Windowed("a", Window(20, 36))) is None


def test_held_back_change_of_a_suppression_does_not_count() -> None:
    """A reader behind it sees what was let through before."""
    node = Suppress(
        name="x", parents=("t",), buffer="s", wait_ms=10, until_window_closes=False
    )  # fmt: skip
    task = reading(node, stored(StoreKind.TIME_ORDERED_BUFFER))
    task.pipe("t", "a", "2", 5)
    task.pipe("t", "b", "1", 6)
    task.stores["s"].put(5, "a", Change("2", "1"), task.context)
    getter = value_getter_for(task, "x")
    assert getter.get("a").value == "1"  # type: ignore[union-attr]
    assert getter.get("b") == ("1", 6)


def test_closing_a_getter_behind_a_suppression_closes_what_it_reads() -> None:
    """A transformer that computes the rows has a method ``close`` of the user's."""

    class Parent:
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    task = reading(TableNode(name="x"), stored(StoreKind.TIME_ORDERED_BUFFER))
    parent: Any = Parent()
    SuppressedRows(task.stores["s"], parent).close()
    assert parent.is_closed


def test_table_of_a_cogroup_reads_its_shared_store() -> None:
    """Without a store of its own it reads its parent's."""
    for node in (
        TablePassThrough(name="p", parents=("t",)),
        TablePassThrough(name="p", parents=("t",), store="ts"),
    ):
        task = reading(node)
        task.pipe("t", "a", "1", 5)
        assert value_getter_for(task, "p").get("a") == ("1", 5)


def test_regrouped_row_is_a_pair() -> None:
    """The key asked for is still the old one."""
    task = reading(TableGroupBy(name="g", parents=("t",), fn=lambda k, v: (v, k)))
    task.pipe("t", "a", "1", 5)
    getter = value_getter_for(task, "g")
    assert getter.get("a") == (("1", "a"), 5)
    assert getter.get("b") is None


def test_versioned_table_can_be_read_as_of_a_time() -> None:
    """Also through a table that is computed from it."""
    task = SeveralNodes(source("t", "ts"), stores=(versions("ts"),))
    task.pipe("t", "a", "1", 5)
    task.pipe("t", "a", "2", 9)
    getter = value_getter_for(task, "t")
    assert getter.is_versioned
    assert getter.get("a") == ("2", 9)
    assert getter.get_as_of("a", 8) == ("1", 5)
    assert getter.get_as_of("a", 4) is None


def test_reading_the_past_of_other_tables_is_refused() -> None:
    """They have none."""
    task = SeveralNodes(source("t", "ts"), stores=(rows("ts"),))
    with pytest.raises(StoreError, match="'ts'"):
        value_getter_for(task, "t").get_as_of("a", 1)
    node = TableNode(name="w", store="s")
    task = reading(node, stored(StoreKind.SESSION))
    with pytest.raises(UnsupportedOperationError):
        value_getter_for(task, "w").get_as_of("a", 1)


def test_table_without_store_or_parent_cannot_be_read() -> None:
    """The error says what to do."""
    with pytest.raises(UnsupportedOperationError, match="materialize the table"):
        value_getter_for(SeveralNodes(source("t")), "t")


def test_store_that_cannot_hold_a_table_is_refused() -> None:
    """A plain key-value store has no timestamps."""
    with pytest.raises(StoreError, match="cannot hold a table"):
        SeveralNodes(source("t", "s"), stores=(stored(StoreKind.KEY_VALUE),))
