"""Turning a value into any number of values."""

import pytest

from penstock.errors import NullArgumentError
from penstock.topology.nodes import FlatMapValues
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_every_value_goes_on_in_order_under_the_same_key() -> None:
    """One value may become several or none."""
    node = SingleNode(FlatMapValues(name="n", fn=str.split))
    assert node.pipe("k", "b a", 7) == [Forwarded("k", "b", 7), Forwarded("k", "a", 7)]
    assert node.pipe("k", "", 8) == []


def test_with_key_the_function_sees_key_and_value() -> None:
    """The key is there to be read; the records keep it."""
    node = SingleNode(FlatMapValues(name="n", fn=lambda k, v: (k, v), with_key=True))
    assert node.pipe("k", "v", 7) == [Forwarded("k", "k", 7), Forwarded("k", "v", 7)]


@pytest.mark.parametrize("with_key", [False, True])
def test_none_instead_of_values_is_an_error(with_key: bool) -> None:
    """No values are an empty iterable, not None."""
    node = FlatMapValues(name="n", fn=lambda *given: None, with_key=with_key)
    with pytest.raises(NullArgumentError, match="flat_map_values returned None"):
        SingleNode(node).pipe("k", "v", 0)
