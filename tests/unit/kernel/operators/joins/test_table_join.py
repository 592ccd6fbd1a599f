"""Joining two tables on their key."""

from typing import Any

import pytest

from penstock.model.change import Change
from penstock.topology.nodes import JoinKind, TableJoin, TableJoinMerge
from tests.unit.kernel.several_nodes import (
    Out,
    SeveralNodes,
    pipe_joined,
    rows,
    source,
    versions,
)


def joining(kind: JoinKind, *, sends_old: bool = False, **merge: Any) -> SeveralNodes:
    arm: dict[str, Any] = {"kind": kind, "joiner": pipe_joined, "sends_old": sends_old}
    return SeveralNodes(
        source("l", "ls", sends_old=True),
        source("r", "rs", sends_old=True),
        TableJoin(name="la", parents=("l",), is_left=True, this="l", other="r", **arm),
        TableJoin(name="ra", parents=("r",), is_left=False, this="r", other="l", **arm),
        TableJoinMerge(
            name="j",
            parents=("la", "ra"),
            left_arm="la",
            right_arm="ra",
            sends_old=sends_old,
            **merge,
        ),
        stores=(rows("ls"), rows("rs"), rows("js")),
    )


def test_inner_join_needs_both_sides() -> None:
    """Either side's update makes a result as soon as the other has a row; left comes first."""
    task = joining(JoinKind.INNER)
    assert task.pipe("l", "a", "1", 1) == []
    assert task.pipe("r", "a", "2", 2) == [Out("a", "1|2", 2)]
    assert task.pipe("l", "a", None, 3) == [Out("a", None, 3)]
    assert task.pipe("r", "a", None, 4) == []


def test_result_has_the_later_timestamp_of_both_sides() -> None:
    """Also for a tombstone, with the time of the row that deleted it."""
    task = joining(JoinKind.INNER)
    task.pipe("l", "a", "1", 9)
    assert task.pipe("r", "a", "2", 2) == [Out("a", "1|2", 9)]
    assert task.pipe("r", "a", None, 3) == [Out("a", None, 9)]


def test_left_join_keeps_left_rows() -> None:
    """A right tombstone brings the row without partner back."""
    task = joining(JoinKind.LEFT)
    assert task.pipe("r", "a", "2", 1) == []
    assert task.pipe("l", "a", "1", 2) == [Out("a", "1|2", 2)]
    assert task.pipe("r", "a", None, 3) == [Out("a", "1|None", 3)]
    assert task.pipe("l", "a", None, 4) == [Out("a", None, 4)]


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.OUTER])
def test_tombstone_of_a_row_that_never_was_gives_nothing(kind: JoinKind) -> None:
    """Nothing before and nothing after is no change."""
    assert joining(kind).pipe("l", "a", None, 1) == []


def test_outer_join_keeps_rows_of_either_side() -> None:
    """The result is deleted with the last of the two rows."""
    task = joining(JoinKind.OUTER)
    assert task.pipe("r", "a", "2", 1) == [Out("a", "None|2", 1)]
    assert task.pipe("l", "a", "1", 2) == [Out("a", "1|2", 2)]
    assert task.pipe("r", "a", None, 3) == [Out("a", "1|None", 3)]
    assert task.pipe("l", "a", None, 4) == [Out("a", None, 4)]


def test_old_results_are_joined_from_old_rows() -> None:
    """What a later node subtracts is what it was sent before."""
    task = joining(JoinKind.LEFT, sends_old=True)
    task.pipe("l", "a", "1", 1)
    task.pipe("r", "a", "2", 2)
    task.pipe("r", "a", "3", 3)
    assert task.changes == [
        Change("1|None", None),
        Change("1|2", "1|None"),
        Change("1|3", "1|2"),
    ]


def test_materialized_result_is_stored_at_the_result_time() -> None:
    """A reader of the join reads its store."""
    task = joining(JoinKind.INNER, store="js")
    task.pipe("l", "a", "1", 9)
    task.pipe("r", "a", "2", 2)
    assert task.value_getter("j").get("a") == ("1|2", 9)
    assert task.changes[-1].old is None


@pytest.mark.parametrize(
    ("kind", "left_only", "right_only"),
    [
        (JoinKind.INNER, None, None),
        (JoinKind.LEFT, ("1|None", 5), None),
        (JoinKind.OUTER, ("1|None", 5), ("None|2", 6)),
    ],
)
def test_rows_without_store_are_joined_when_read(
    kind: JoinKind, left_only: Any, right_only: Any
) -> None:
    """Which side may be missing is the same as for changes."""
    task = joining(kind)
    task.pipe("l", "a", "1", 5)
    task.pipe("r", "b", "2", 6)
    for arm in "j", "la", "ra":
        getter = task.value_getter(arm)
        assert getter.get("a") == left_only
        assert getter.get("b") == right_only
        assert getter.get("c") is None
        assert not getter.is_versioned
    task.pipe("r", "a", "3", 4)
    assert task.value_getter("j").get("a") == ("1|3", 5)


def test_out_of_order_change_of_a_versioned_table_is_ignored() -> None:
    """A join has the latest rows only."""
    arm: Any = {"kind": JoinKind.LEFT, "joiner": pipe_joined, "this": "l", "other": "r"}
    task = SeveralNodes(
        source("l", "ls"),
        source("r", "rs"),
        TableJoin(name="la", parents=("l",), is_left=True, versioned=True, **arm),
        stores=(versions("ls"), rows("rs")),
    )
    task.pipe("l", "a", "new", 9)
    assert task.pipe("l", "a", "old", 3) == []
    assert task.drops == ["out-of-order"]


def test_null_key_is_dropped() -> None:
    """A change without a key can only come from outside; it has no partner."""
    task = joining(JoinKind.OUTER)
    assert task.pipe("la", None, Change("1", None), 1) == []
    assert task.drops == ["null-key"]
