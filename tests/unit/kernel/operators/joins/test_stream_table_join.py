"""Looking a stream's records up in a table."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import StreamTableJoin
from tests.unit.kernel.several_nodes import (
    Out,
    SeveralNodes,
    pipe_joined,
    rows,
    source,
    versions,
)


def joining(table: StoreSpec, *more: StoreSpec, **options: Any) -> SeveralNodes:
    join = {"name": "j", "parents": (), "table": "t", "joiner": pipe_joined}
    return SeveralNodes(
        StreamTableJoin(**{**join, **options}), source("t", "ts"), stores=(table, *more)
    )


def with_grace(grace_ms: int, **options: Any) -> SeveralNodes:
    buffer = StoreSpec(name="b", kind=StoreKind.TIME_ORDERED_BUFFER, retention_ms=grace_ms)
    return joining(versions("ts"), buffer, grace_ms=grace_ms, buffer="b", **options)


def test_inner_join_drops_what_the_table_does_not_have() -> None:
    """The result has the stream's time, even if the row is newer; rows alone emit nothing."""
    task = joining(rows("ts"))
    assert task.pipe("j", "a", "1", 5) == []
    task.pipe("t", "a", "x", 9)
    task.out.clear()
    assert task.pipe("j", "a", "1", 6) == [Out("a", "1|x", 6)]


def test_left_join_keeps_records_without_partner_or_key() -> None:
    """Without a key there is no row to find, which for a left join is a result."""
    task = joining(rows("ts"), is_left=True)
    assert task.pipe("j", "a", "1", 5) == [Out("a", "1|None", 5)]
    assert task.pipe("j", None, "1", 6) == [Out(None, "1|None", 6)]


@pytest.mark.parametrize("is_left", [False, True])
def test_null_value_is_dropped(is_left: bool) -> None:
    """Null would stand for a missing partner."""
    task = joining(rows("ts"), is_left=is_left)
    assert task.pipe("j", "a", None, 1) == []
    assert task.drops == ["null-join-key-or-value"]


def test_null_key_is_dropped_by_an_inner_join() -> None:
    """It can never have a partner."""
    task = joining(rows("ts"))
    task.pipe("j", None, "1", 1)
    assert task.drops == ["null-join-key-or-value"]


def test_versioned_table_is_read_as_of_the_record() -> None:
    """A late record finds the row that was valid at its time."""
    task = joining(versions("ts"), is_left=True)
    task.pipe("t", "a", "old", 10)
    task.pipe("t", "a", "new", 20)
    task.out.clear()
    assert task.pipe("j", "a", "1", 15) == [Out("a", "1|old", 15)]
    assert task.pipe("j", "a", "1", 5) == [Out("a", "1|None", 5)]


def test_joiner_may_see_the_key() -> None:
    """The function's arity decided that when the node was made."""
    joiner = lambda key, left, right: f"{key}:{left}|{right}"  # noqa: E731
    task = joining(rows("ts"), is_left=True, joiner=joiner, with_key=True)
    assert task.pipe("j", "a", "1", 5) == [Out("a", "a:1|None", 5)]


def test_with_grace_records_wait_and_leave_in_order_of_time() -> None:
    """Each sees the table as of its time, including rows that came after it."""
    task = with_grace(10)
    assert task.pipe("j", "a", "second", 15) == []
    assert task.pipe("j", "a", "first", 12) == []
    task.pipe("t", "a", "x", 11)
    task.pipe("t", "a", "y", 14)
    task.out.clear()
    assert task.pipe("j", "a", "third", 25) == [Out("a", "first|x", 12), Out("a", "second|y", 15)]


def test_released_record_keeps_its_own_headers() -> None:
    """The context is that of the record that waited, not of the one that released it."""
    task = with_grace(0, is_left=True)
    headers = (("h", b"1"),)
    task.pipe("j", "a", "1", 5, headers)
    assert task.headers == [headers]


def test_record_later_than_grace_is_joined_at_once() -> None:
    """It has no time left to wait."""
    task = with_grace(10, is_left=True)
    task.pipe("j", "a", "1", 100)
    assert task.pipe("j", "a", "late", 5) == [Out("a", "late|None", 5)]


def test_record_without_key_cannot_wait() -> None:
    """The buffer is sorted by key; Kafka Streams fails here, too."""
    with pytest.raises(NullArgumentError, match="key is None"):
        with_grace(10, is_left=True).pipe("j", None, "1", 5)


def test_grace_needs_a_versioned_table() -> None:
    """Only such a table remembers the rows that waiting records want to see."""
    buffer = StoreSpec(name="b", kind=StoreKind.TIME_ORDERED_BUFFER, retention_ms=5)
    with pytest.raises(InvalidArgumentError, match="'t' is not versioned"):
        joining(rows("ts"), buffer, grace_ms=5, buffer="b")
