"""Giving records a new key."""

from penstock.topology.nodes import SelectKey
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_the_key_is_replaced_and_the_rest_kept() -> None:
    """The function sees key and value and returns the new key."""
    node = SingleNode(SelectKey(name="n", fn=lambda k, v: f"{k}/{v}"))
    assert node.pipe("k", "v", 7, (("h", b""),)) == [Forwarded("k/v", "v", 7, (("h", b""),))]


def test_a_new_key_may_be_none() -> None:
    """Dropping null keys is the business of who needs them: repartition, grouping."""
    node = SingleNode(SelectKey(name="n", fn=lambda k, v: None))
    assert node.pipe("k", "v", 7) == [Forwarded(None, "v", 7)]
