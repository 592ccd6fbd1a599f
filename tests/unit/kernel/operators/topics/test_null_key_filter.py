"""The guard in front of a repartition topic."""

from penstock.topology.nodes import NullKeyFilter
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_records_without_a_key_are_dropped_and_counted() -> None:
    """They belong to no partition; a null value belongs to its key's."""
    node = SingleNode(NullKeyFilter(name="n"))
    assert node.pipe(None, "v", 7) == []
    assert node.drops == ["null-key"]
    assert node.pipe("k", None, 7) == [Forwarded("k", None, 7)]
    assert node.pipe("", "v", 7) == [Forwarded("", "v", 7)]
