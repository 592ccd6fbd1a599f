"""Keeping some rows of a table."""

from typing import Any

from penstock.model.change import Change
from penstock.topology.nodes import TableFilter
from tests.unit.kernel.several_nodes import Out, SeveralNodes, rows, source


def is_long(key: Any, value: str) -> bool:
    return len(value) > 2


def filtering(**options: Any) -> TableFilter:
    return TableFilter(name="f", parents=("t",), predicate=is_long, **options)


def test_without_old_values_a_key_that_never_passed_gets_a_tombstone() -> None:
    """An unmaterialized filter over an unmaterialized source cannot know what it emitted."""
    task = SeveralNodes(source("t"), filtering())
    assert task.pipe("t", "a", "x", 1) == [Out("a", None, 1)]


def test_with_old_values_a_key_that_never_passed_gets_nothing() -> None:
    """A materialized source makes superfluous tombstones visible as such."""
    task = SeveralNodes(
        source("t", "s", sends_old=True), filtering(sends_old=True), stores=(rows("s"),)
    )
    assert task.pipe("t", "a", "x", 1) == []
    assert task.pipe("t", "a", "long", 2) == [Out("a", "long", 2)]
    assert task.pipe("t", "a", "x", 3) == [Out("a", None, 3)]
    assert task.changes[-1] == Change(None, "long")


def test_versioned_filter_keeps_every_tombstone() -> None:
    """For a versioned table each tombstone is a version of its own."""
    task = SeveralNodes(
        source("t", "s", sends_old=True),
        filtering(sends_old=True, versioned=True),
        stores=(rows("s"),),
    )
    assert task.pipe("t", "a", "x", 1) == [Out("a", None, 1)]


def test_predicate_never_sees_a_tombstone_even_negated() -> None:
    """A deleted row is deleted, whether the predicate is negated or not."""
    task = SeveralNodes(source("t"), filtering(negate=True))
    assert task.pipe("t", "a", None, 1) == [Out("a", None, 1)]
    assert task.pipe("t", "a", "x", 2) == [Out("a", "x", 2)]


def test_materialized_filter_takes_the_old_value_from_its_own_store() -> None:
    """The source need not send old values for that."""
    task = SeveralNodes(source("t"), filtering(store="s", sends_old=True), stores=(rows("s"),))
    task.pipe("t", "a", "long", 1)
    task.pipe("t", "a", "longer", 2)
    assert task.changes[-1] == Change("longer", "long")


def test_rows_of_a_filter_without_store_are_filtered_when_read() -> None:
    """A reader sees the parent's row, or none."""
    task = SeveralNodes(source("t", "s"), filtering(), stores=(rows("s"),))
    getter = task.value_getter("f")
    task.pipe("t", "a", "long", 1)
    assert getter.get("a") == ("long", 1)
    task.pipe("t", "a", "x", 2)
    assert getter.get("a") is None
