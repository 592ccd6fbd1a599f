"""Re-keying a table's changes."""

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.change import Change
from penstock.topology.nodes import TableGroupBy
from tests.unit.kernel.several_nodes import Out, SeveralNodes


def by_first_letter(key: Any, value: str) -> tuple[Any, Any]:
    return (value[0] if value else None), value


def grouping(**options: Any) -> SeveralNodes:
    return SeveralNodes(TableGroupBy(name="g", **{"fn": by_first_letter, **options}))


def test_change_within_a_group_is_one_change() -> None:
    """As two, the aggregation would emit the state in between."""
    task = grouping()
    task.pipe("g", "k", Change("a2", "a1"), 1)
    assert task.out == [Out("a", "a2", 1)]
    assert task.changes == [Change("a2", "a1")]


def test_change_of_group_sends_the_old_group_first() -> None:
    """The row leaves one group before it joins another."""
    task = grouping()
    task.pipe("g", "k", Change("b1", "a1"), 1)
    assert [out.key for out in task.out] == ["a", "b"]
    assert task.changes == [Change(None, "a1"), Change("b1", None)]


def test_row_without_a_group_is_left_out() -> None:
    """A null key or value of the selector belongs nowhere; the other half still counts."""
    task = grouping(fn=lambda key, value: None if value == "none" else ("g", None))
    task.pipe("g", "k", Change("x", "none"), 1)
    assert task.out == []
    task = grouping()
    task.pipe("g", "k", Change("", "a1"), 1)
    assert task.changes == [Change(None, "a1")]


def test_out_of_order_change_of_a_versioned_table_is_ignored() -> None:
    """An aggregation has the latest rows only."""
    task = grouping(versioned=True)
    assert task.pipe("g", "k", Change("a1", None, is_latest=False), 1) == []


def test_null_key_is_an_error() -> None:
    """Tables have no rows without a key, so something before this node is broken."""
    with pytest.raises(StreamsError, match="without a key"):
        grouping().pipe("g", None, Change("a", None), 1)
