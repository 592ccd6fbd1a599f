"""Giving a table's rows a new value with state."""

from typing import Any

import pytest

from penstock.errors import NullArgumentError, UnknownStoreError
from penstock.model.change import Change
from penstock.processor.processor import ValueTransformer
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import StreamTableJoin, TableTransformValues
from tests.unit.kernel.several_nodes import Out, SeveralNodes, rows, source

COUNTS = StoreSpec(
    name="counts", kind=StoreKind.KEY_VALUE, persistent=False, value_serde=Serdes.long()
)


class Counting(ValueTransformer):
    """Counts its calls per key, and notes when and for which topic it was called."""

    closed = 0
    seen: list[tuple[Any, ...]]

    def init(self, context: Any) -> None:
        self._counts = context.get_state_store("counts")
        Counting.seen = []

    def transform(self, key: Any, value: Any) -> Any:
        count = (self._counts.get(key) or 0) + 1
        self._counts.put(key, count)
        metadata = self.context.record_metadata
        Counting.seen.append((value, None if metadata is None else metadata.topic))
        return f"{value}#{count}"

    def close(self) -> None:
        Counting.closed += 1


def transforming(**options: Any) -> TableTransformValues:
    node = {"name": "x", "parents": ("t",), "stores": ("counts",), "supplier": Counting}
    return TableTransformValues(**{**node, **options})


def test_transformer_sees_tombstones() -> None:
    """Unlike a mapper it may want to clean up."""
    task = SeveralNodes(source("t"), transforming(), stores=(COUNTS,))
    assert task.pipe("t", "a", None, 1) == [Out("a", "None#1", 1)]


def test_old_value_is_transformed_again_without_a_store() -> None:
    """A transformer with state is called twice per change then."""
    task = SeveralNodes(
        source("t", "s", sends_old=True), transforming(sends_old=True), stores=(COUNTS, rows("s"))
    )
    task.pipe("t", "a", "1", 1)
    assert task.changes == [Change("1#1", "None#2")]


def test_materialized_result_supplies_the_old_value() -> None:
    """With a store the transformer is called once per change."""
    task = SeveralNodes(
        source("t"), transforming(store="s", sends_old=True), stores=(COUNTS, rows("s"))
    )
    task.pipe("t", "a", "1", 1)
    task.pipe("t", "a", "2", 2)
    assert task.changes[-1] == Change("2#2", "1#1")


def test_reader_of_rows_uses_a_transformer_of_its_own() -> None:
    """It sees the row, no topic, and is closed with the reader."""
    task = SeveralNodes(source("t", "s"), transforming(), stores=(COUNTS, rows("s")))
    task.pipe("t", "a", "1", 5)
    getter, closed = task.value_getter("x"), Counting.closed
    assert getter.get("a") == ("1#2", 5)
    assert getter.get("b") == ("None#1", -1)
    assert Counting.seen == [("1", None), (None, None)]
    assert task.context.topic == "in"
    getter.close()
    assert Counting.closed == closed + 1


def test_reader_without_the_transformers_stores_is_refused() -> None:
    """A transformer with state must not run for reads; the error says what to do instead."""
    join = StreamTableJoin(name="j", table="x", joiner=lambda left, right: left)
    with pytest.raises(UnknownStoreError, match="materialized="):
        SeveralNodes(source("t", "s"), transforming(), join, stores=(COUNTS, rows("s")))


def test_supplier_without_transformer_is_refused() -> None:
    """The error names the node."""
    with pytest.raises(NullArgumentError, match="'x'"):
        SeveralNodes(source("t"), transforming(supplier=lambda: None), stores=(COUNTS,))
