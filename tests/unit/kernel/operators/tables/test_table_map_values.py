"""Giving a table's rows a new value."""

from typing import Any

from penstock.model.change import Change
from penstock.topology.nodes import TableMapValues
from tests.unit.kernel.several_nodes import Out, SeveralNodes, rows, source


def upper(value: str) -> str:
    return value.upper()


def mapping(**options: Any) -> TableMapValues:
    return TableMapValues(name="m", parents=("t",), **{"fn": upper, **options})


def test_tombstone_is_not_mapped() -> None:
    """The mapper never sees null."""
    task = SeveralNodes(source("t"), mapping())
    assert task.pipe("t", "a", None, 1) == [Out("a", None, 1)]


def test_old_value_is_mapped_too() -> None:
    """A later node compares what it saw before with what it sees now."""
    task = SeveralNodes(
        source("t", "s", sends_old=True), mapping(sends_old=True), stores=(rows("s"),)
    )
    task.pipe("t", "a", "x", 1)
    task.pipe("t", "a", "y", 2)
    assert task.changes[-1] == Change("Y", "X")


def test_mapper_with_key_sees_the_key() -> None:
    """The function's arity decided that when the node was made."""
    fn = lambda key, value: f"{key}={value}"  # noqa: E731
    task = SeveralNodes(source("t"), mapping(fn=fn, with_key=True))
    assert task.pipe("t", "a", "x", 1) == [Out("a", "a=x", 1)]


def test_materialized_result_is_stored_and_supplies_the_old_value() -> None:
    """Without old values of the source, its own store has them."""
    task = SeveralNodes(source("t"), mapping(store="s", sends_old=True), stores=(rows("s"),))
    task.pipe("t", "a", "x", 1)
    task.pipe("t", "a", "y", 2)
    assert task.stores["s"].get("a") == ("Y", 2)
    assert task.changes[-1] == Change("Y", "X")


def test_rows_without_store_are_mapped_when_read() -> None:
    """A mapper that gives null makes the row vanish."""
    task = SeveralNodes(
        source("t", "s"), mapping(fn=lambda v: None if v == "x" else v), stores=(rows("s"),)
    )
    getter = task.value_getter("m")
    assert getter.get("a") is None
    task.pipe("t", "a", "y", 7)
    assert getter.get("a") == ("y", 7)
    task.pipe("t", "a", "x", 8)
    assert getter.get("a") is None
