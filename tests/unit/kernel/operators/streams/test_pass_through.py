"""Handing records on unchanged."""

import pytest

from penstock.model.change import Change
from penstock.topology.nodes import Node, PassThrough, TablePassThrough
from tests.unit.kernel.single_node import Forwarded, SingleNode


@pytest.mark.parametrize("node", [PassThrough(name="n"), TablePassThrough(name="n")])
def test_everything_goes_on_as_it_is(node: Node) -> None:
    """Nulls and changes included."""
    task = SingleNode(node)
    headers = (("h", b""),)
    assert task.pipe(None, None, 7, headers) == [Forwarded(None, None, 7, headers)]
    change = Change(1, 2, False)
    assert task.pipe("k", change, 7) == [Forwarded("k", change, 7)]
