"""A table's changes as a stream."""

from penstock.model.change import Change
from penstock.topology.nodes import ToStream
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_every_change_becomes_a_record_tombstones_included() -> None:
    """The old value stays behind; out-of-order updates of a versioned table do not."""
    node = SingleNode(ToStream(name="n"))
    headers = (("h", b""),)
    assert node.pipe("k", Change(1, 0), 7, headers) == [Forwarded("k", 1, 7, headers)]
    assert node.pipe("k", Change(None, 1), 8) == [Forwarded("k", None, 8)]
    assert node.pipe("k", Change(5, None, False), 3) == [Forwarded("k", 5, 3)]
