"""Looking at records in passing."""

from typing import Any

from penstock.topology.nodes import Peek
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_peek_sees_a_record_before_later_nodes_and_leaves_it_alone() -> None:
    """Its return value means nothing."""
    events: list[Any] = []
    node = SingleNode(Peek(name="n", fn=lambda k, v: events.append((k, v, len(node.out)))))
    assert node.pipe("k", "v", 7, (("h", b""),)) == [Forwarded("k", "v", 7, (("h", b""),))]
    assert events == [("k", "v", 0)]


def test_foreach_forwards_nothing() -> None:
    """It is the end of its branch."""
    events: list[Any] = []
    node = SingleNode(Peek(name="n", fn=lambda k, v: events.append(k), forwards=False))
    assert node.pipe("k", "v", 7) == []
    assert events == ["k"]
