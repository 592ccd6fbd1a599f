"""Rows of tables for a column of keys; ``table_join_columns`` joins with them.

What runs over columns is held to the record executors in ``tests/properties/test_vectorised.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as ps
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.store_rows import NEVER
from penstock.kernel.operators.joins.table_join_columns import TableJoinColumns
from penstock.kernel.operators.tables.read_rows import Rows, SideJoin
from penstock.topology.nodes import JoinKind, TableJoin
from tests.unit.kernel.columns.test_planner import planned

KEYS = BatchColumn(["a", "b", "c", "d"])


def side_join(kind: JoinKind, *, is_left: bool) -> SideJoin:
    node = TableJoin(
        name="arm", kind=kind, is_left=is_left, this="this", other="other",
        joiner=lambda one, other: [one, other],
    )  # fmt: skip
    return SideJoin(node)


def results(kind: JoinKind, *, is_left: bool) -> list[Any]:
    """Join all four combinations: both sides, only this one, only the other one, neither."""
    this = BatchColumn([1, 1, None, None])
    other = Rows(BatchColumn([2, None, 2, None]), np.array([5, NEVER, 5, NEVER]))
    return [*side_join(kind, is_left=is_left).joined(KEYS, this, other).values()]


def test_inner_join_needs_both_sides() -> None:
    assert results(JoinKind.INNER, is_left=True) == [[1, 2], None, None, None]
    assert results(JoinKind.INNER, is_left=False) == [[2, 1], None, None, None]


def test_left_join_needs_the_left_side() -> None:
    assert results(JoinKind.LEFT, is_left=True) == [[1, 2], [1, None], None, None]
    assert results(JoinKind.LEFT, is_left=False) == [[2, 1], None, [2, None], None]


def test_outer_join_needs_one_side() -> None:
    assert results(JoinKind.OUTER, is_left=True) == [[1, 2], [1, None], [None, 2], None]


def test_nothing_to_join_calls_no_joiner() -> None:
    none = Rows(BatchColumn([None] * 4), np.full(4, NEVER))
    found = side_join(JoinKind.INNER, is_left=True).joined(KEYS, BatchColumn([1] * 4), none)
    assert [*found.values()] == [None] * 4


def test_rows_of_a_derived_table_are_computed_from_its_parent() -> None:
    """A row that fails the filter, or is mapped to nothing, is no row and has no time."""

    def build(builder: ps.StreamsBuilder) -> None:
        one = builder.table("one", materialized="one", key="string", value="json")
        other = builder.table("other", materialized="other", key="string", value="json")
        some = other.filter(ps.col("n") > 1).map_values(lambda key, value: value.get("s"))
        one.join(some, lambda left, right: [left, right]).to_stream().to("out", value="json")

    plan = planned(build)
    arm = next(
        each
        for source in plan.sources.values()
        for each in source.below()
        if isinstance(each, TableJoinColumns) and each.node.is_left
    )
    store = arm.task.store("other")
    for key, value in (("a", {"n": 2, "s": "x"}), ("b", {"n": 1, "s": "y"}), ("c", {"n": 3})):
        store.put(key, ps.ValueAndTimestamp(value, 7))
    store.flush()
    rows = arm._other.read(KEYS, Effects())
    assert [*rows.values.values()] == ["x", None, None, None]
    assert rows.times.tolist() == [7, NEVER, NEVER, NEVER]
