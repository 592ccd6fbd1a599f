"""Turning a record into any number of records."""

from typing import Any

import pytest

from penstock.errors import NullArgumentError
from penstock.topology.nodes import FlatMap
from tests.unit.kernel.single_node import Forwarded, SingleNode


def test_every_pair_goes_on_in_order_with_the_records_time() -> None:
    """One record may become several or none."""
    node = SingleNode(FlatMap(name="n", fn=lambda k, v: [(w, k) for w in v.split()]))
    headers = (("h", b""),)
    assert node.pipe("k", "b a", 7, headers) == [
        Forwarded("b", "k", 7, headers),
        Forwarded("a", "k", 7, headers),
    ]
    assert node.pipe("k", "", 8) == []


def test_a_generator_is_read_as_its_pairs_are_forwarded() -> None:
    """The pairs before a failure have gone on, as in Java."""

    def failing(key: Any, value: Any) -> Any:
        yield key, 1
        raise RuntimeError("second")

    node = SingleNode(FlatMap(name="n", fn=failing))
    with pytest.raises(RuntimeError, match="second"):
        node.pipe("k", "v", 0)
    assert node.out == [Forwarded("k", 1, 0)]


@pytest.mark.parametrize("result", [None, [None]])
def test_none_instead_of_pairs_or_of_a_pair_is_an_error(result: Any) -> None:
    """No records are an empty iterable, not None."""
    with pytest.raises(NullArgumentError, match="flat_map returned None"):
        SingleNode(FlatMap(name="n", fn=lambda k, v: result)).pipe("k", "v", 0)
