"""Joining two streams within a window of time.

Exercises ``kernel.services``.
"""

from typing import Any

import pytest

from penstock.model.windows.definitions import JoinWindows
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import (
    JoinKind,
    PassThrough,
    StreamJoin,
    StreamJoinWindow,
    StreamSelfJoin,
)
from tests.unit.kernel.several_nodes import Out, SeveralNodes, pipe_joined


def window_store(name: str, windows: JoinWindows) -> StoreSpec:
    return StoreSpec(
        name=name,
        kind=StoreKind.WINDOW,
        persistent=True,
        retention_ms=windows.size_ms + windows.grace_ms,
        window_size_ms=windows.size_ms,
        segment_interval_ms=60_000,
        retain_duplicates=True,
    )


def joining(
    kind: JoinKind = JoinKind.INNER,
    windows: JoinWindows = JoinWindows(10, 10),
    *,
    wait_ms: int = 0,
) -> SeveralNodes:
    is_outer = kind is not JoinKind.INNER
    arm: dict[str, Any] = {
        "windows": windows, "joiner": pipe_joined, "clock": "m",
        "outer_store": "outer" if is_outer else None,
    }  # fmt: skip
    right_outer = kind is JoinKind.OUTER
    return SeveralNodes(
        StreamJoinWindow(name="l", store="ls"),
        StreamJoinWindow(name="r", store="rs"),
        StreamJoin(
            name="la", parents=("l",), is_left=True, other_store="rs", outer=is_outer, **arm
        ),
        StreamJoin(
            name="ra", parents=("r",), is_left=False, other_store="ls", outer=right_outer, **arm
        ),
        PassThrough(name="m", parents=("la", "ra")),
        stores=(
            window_store("ls", windows),
            window_store("rs", windows),
            StoreSpec(name="outer", kind=StoreKind.OUTER_JOIN, persistent=False),
        ),
        wait_ms=wait_ms,
    )


def test_window_includes_both_of_its_ends() -> None:
    """Exactly the difference apart is a pair, one millisecond more is not."""
    task = joining()
    task.pipe("l", "a", "1", 100)
    assert task.pipe("r", "a", "x", 110) == [Out("a", "1|x", 110)]
    assert task.pipe("r", "a", "y", 90) == [Out("a", "1|y", 100)]
    assert task.pipe("r", "a", "z", 111) == []
    assert task.pipe("r", "b", "x", 100) == []


def test_window_before_and_after_are_seen_from_the_left() -> None:
    """A right record may be up to ``before`` earlier and ``after`` later than the left one."""
    task = joining(windows=JoinWindows(before_ms=2, after_ms=30))
    task.pipe("l", "a", "1", 100)
    assert task.pipe("r", "a", "early", 97) == []
    assert task.pipe("r", "a", "x", 98) == [Out("a", "1|x", 100)]
    assert task.pipe("r", "a", "y", 130) == [Out("a", "1|y", 130)]
    assert task.pipe("l", "a", "2", 130) == [Out("a", "2|y", 130)]


@pytest.mark.parametrize("record", [(None, "1"), ("a", None), (None, None)])
def test_null_key_or_value_is_dropped_by_an_inner_join(record: tuple[Any, Any]) -> None:
    """Neither can have a partner."""
    task = joining()
    assert task.pipe("l", *record, 1) == []
    assert task.drops == ["null-key-or-value"]


def test_late_record_still_joins_what_the_store_has() -> None:
    """An inner join does not ask whether the window is closed, only whether the partner is kept."""
    task = joining(windows=JoinWindows(10, 10, 0))
    task.pipe("l", "a", "1", 100)
    task.pipe("l", "b", "2", 119)
    assert task.pipe("r", "a", "late", 95) == [Out("a", "1|late", 100)]


def test_left_join_emits_a_record_without_key_at_once() -> None:
    """It will never have a partner. The optional side's is dropped."""
    task = joining(JoinKind.LEFT)
    assert task.pipe("l", None, "1", 5) == [Out(None, "1|None", 5)]
    assert task.pipe("r", None, "x", 5) == []
    assert task.pipe("l", None, None, 6) == []
    assert joining(JoinKind.OUTER).pipe("r", None, "x", 5) == [Out(None, "None|x", 5)]


def test_unmatched_record_is_emitted_when_its_window_closes() -> None:
    """Before the record that closes it is joined, with its own time and the other's headers."""
    task = joining(JoinKind.LEFT, JoinWindows(10, 10, 5))
    task.pipe("l", "a", "1", 100, (("h", b"1"),))
    assert task.pipe("l", "b", "2", 115) == []
    headers = (("h", b"2"),)
    assert task.pipe("r", "b", "x", 116, headers) == [Out("a", "1|None", 100), Out("b", "2|x", 116)]
    assert task.headers == [headers, headers]


def test_matched_record_is_not_emitted_again() -> None:
    """A partner that comes in time takes the record out of those that wait."""
    task = joining(JoinKind.OUTER)
    task.pipe("l", "a", "1", 100)
    assert task.pipe("r", "a", "x", 105) == [Out("a", "1|x", 105)]
    assert task.pipe("r", "b", "y", 500) == []


def test_either_side_emits_the_unmatched_records_of_both() -> None:
    """They come out in order of time; left value first, whoever emits."""
    task = joining(JoinKind.OUTER)
    task.pipe("l", "a", "1", 100)
    task.pipe("r", "b", "x", 101)
    expected = [Out("a", "1|None", 100), Out("b", "None|x", 101)]
    assert task.pipe("r", "c", "y", 200) == expected


def test_unmatched_record_that_is_late_already_is_emitted_at_once() -> None:
    """Nothing that comes could still find it."""
    task = joining(JoinKind.LEFT, JoinWindows(10, 10, 0))
    task.pipe("l", "a", "1", 100)
    assert task.pipe("l", "b", "late", 80) == [Out("b", "late|None", 80)]


def test_record_that_does_not_move_the_clock_emits_nothing() -> None:
    """Only stream time closes windows."""
    task = joining(JoinKind.LEFT, JoinWindows(10, 10, 0))
    task.pipe("l", "a", "1", 100)
    task.pipe("r", "b", None, 200)
    assert task.pipe("r", "b", "x", 150) == []
    assert task.pipe("r", "b", "x", 200) == [Out("a", "1|None", 100)]


def test_all_values_of_one_key_and_time_are_emitted() -> None:
    """Duplicates wait together and leave in the order they came."""
    task = joining(JoinKind.LEFT)
    task.pipe("l", "a", "1", 100)
    task.pipe("l", "a", "2", 100)
    assert task.pipe("l", "b", "3", 200) == [Out("a", "1|None", 100), Out("a", "2|None", 100)]
    assert task.pipe("l", "b", "4", 300) == [Out("b", "3|None", 200)]


def test_open_window_of_one_side_does_not_hold_back_the_other() -> None:
    """With different ends per side the first open record is not yet the end of the search."""
    task = joining(JoinKind.OUTER, JoinWindows(before_ms=0, after_ms=100))
    task.pipe("l", "a", "1", 100)
    task.pipe("r", "b", "x", 101)
    assert task.pipe("r", "c", "y", 150) == [Out("b", "None|x", 101)]
    assert task.pipe("r", "c", "z", 201) == [Out("a", "1|None", 100), Out("c", "None|y", 150)]


def test_emissions_keep_the_configured_distance() -> None:
    """Each one scans the store, so the wall clock limits them."""
    task = joining(JoinKind.LEFT, wait_ms=1_000)
    task.now = 5_000
    task.pipe("l", "a", "1", 100)
    assert task.pipe("l", "b", "2", 200) == [Out("a", "1|None", 100)]
    task.now = 5_999
    assert task.pipe("l", "c", "3", 300) == []
    task.now = 6_000
    assert task.pipe("l", "d", "4", 300) == [Out("b", "2|None", 200)]


@pytest.mark.parametrize("windows", [JoinWindows(10, 10), JoinWindows(3, 20, 5)])
def test_self_join_gives_what_two_stores_give(windows: JoinWindows) -> None:
    """The optimized join may not change the result, nor its order."""
    records = [("a", "1", 100), ("a", "2", 103), ("b", "x", 104), ("a", "3", 95), ("a", "4", 120)]
    two = joining(windows=windows)
    expected = [out for record in records for arm in "lr" for out in two.pipe(arm, *record)]
    one = SeveralNodes(
        StreamJoinWindow(name="l", store="ls"),
        StreamSelfJoin(name="j", parents=("l",), store="ls", windows=windows, joiner=pipe_joined),
        stores=(window_store("ls", windows),),
    )
    assert [out for record in records for out in one.pipe("l", *record)] == expected


def test_self_join_drops_null_keys_and_values() -> None:
    """As an inner join of two streams does."""
    join = StreamSelfJoin(name="j", store="ls", windows=JoinWindows(1, 1), joiner=pipe_joined)
    task = SeveralNodes(join, stores=(window_store("ls", JoinWindows(1, 1)),))
    task.pipe("j", None, "1", 1)
    task.pipe("j", "a", None, 1)
    assert task.out == []
    assert task.drops == ["null-key-or-value"] * 2
