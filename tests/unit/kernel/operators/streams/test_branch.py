"""Splitting a stream."""

import pytest

from penstock.errors import StreamsError
from penstock.topology.nodes import Branch
from tests.unit.kernel.single_node import SingleNode

ARMS = Branch(
    name="n",
    predicates=(lambda k, v: v > 10, lambda k, v: v > 5),
    children=("big", "middle"),
    default="rest",
)


def test_a_record_goes_to_the_first_branch_that_takes_it_only() -> None:
    """A record that fits two branches is not doubled."""
    node = SingleNode(ARMS, children=("big", "middle", "rest"))
    for value in (11, 6, 1):
        node.pipe("k", value, 7)
    assert [(f.value, f.child) for f in node.out] == [(11, "big"), (6, "middle"), (1, "rest")]


def test_without_a_default_the_rest_goes_nowhere() -> None:
    """It is not an error and not counted: the user asked for it."""
    node = SingleNode(
        Branch(name="n", predicates=(lambda k, v: False,), children=("a",)), children=("a",)
    )
    assert node.pipe("k", 1, 0) == []
    assert node.drops == []


def test_a_child_that_is_not_there_fails_at_the_start() -> None:
    """Not with the first record that happens to take that branch."""
    with pytest.raises(StreamsError, match="no child 'middle'"):
        SingleNode(ARMS, children=("big",))
