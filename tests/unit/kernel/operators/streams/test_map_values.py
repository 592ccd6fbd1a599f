"""Giving records a new value."""

from penstock.topology.nodes import MapValues
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_the_function_sees_the_value_alone() -> None:
    """Without ``with_key`` it takes one argument; None is passed in and out."""
    node = SingleNode(MapValues(name="n", fn=lambda v: [v]))
    assert node.pipe("k", None, 7, (("h", b""),)) == [Forwarded("k", [None], 7, (("h", b""),))]


def test_with_key_the_function_sees_key_and_value() -> None:
    """The key is there to be read; the record keeps it."""
    node = SingleNode(MapValues(name="n", fn=lambda k, v: k + v, with_key=True))
    assert node.pipe("k", "v", 7) == [Forwarded("k", "kv", 7)]
