"""Looking a stream's records up in a global table."""

from typing import Any

from penstock.topology.nodes import GlobalJoin
from tests.unit.kernel.several_nodes import Out, SeveralNodes, pipe_joined, rows, source


def joining(*, is_left: bool) -> SeveralNodes:
    join = GlobalJoin(
        name="j", store="ts", key_selector=select, joiner=pipe_joined, is_left=is_left
    )
    return SeveralNodes(join, source("t", "ts"), stores=(rows("ts"),))


def select(key: Any, value: str) -> str | None:
    return None if value == "no key" else value[0]


def test_result_keeps_the_stream_key_and_time() -> None:
    """The selected key is only for the look-up."""
    task = joining(is_left=False)
    task.pipe("t", "x", "row", 9)
    task.out.clear()
    assert task.pipe("j", "k", "x1", 5) == [Out("k", "x1|row", 5)]
    assert task.pipe("j", None, "x2", 6) == [Out(None, "x2|row", 6)]
    assert task.pipe("j", "k", "y1", 7) == []


def test_null_selected_key_has_no_partner() -> None:
    """A left join emits the record nevertheless, an inner join drops it."""
    assert joining(is_left=True).pipe("j", "k", "no key", 5) == [Out("k", "no key|None", 5)]
    task = joining(is_left=False)
    assert task.pipe("j", "k", "no key", 5) == []
    assert task.drops == ["null-join-key-or-value"]


def test_null_value_is_dropped_without_asking_the_selector() -> None:
    """Null would stand for a missing partner."""
    task = joining(is_left=True)
    assert task.pipe("j", "k", None, 5) == []
    assert task.drops == ["null-join-key-or-value"]
