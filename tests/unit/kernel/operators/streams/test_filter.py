"""Keeping some records of a stream."""

import pytest

from penstock.topology.nodes import Filter
from tests.unit.kernel.single_node import Forwarded, SingleNode

HEADERS = (("trace", b"1"),)


def test_a_record_that_passes_goes_on_unchanged() -> None:
    """Key, value, timestamp and headers of a kept record are its own."""
    node = SingleNode(Filter(name="n", predicate=lambda k, v: v > 1))
    assert node.pipe("k", 2, 7, HEADERS) == [Forwarded("k", 2, 7, HEADERS)]
    assert node.pipe("k", 1, 8) == []


def test_a_negated_filter_is_the_complement() -> None:
    """``filter_not`` keeps what ``filter`` drops."""
    node = SingleNode(Filter(name="n", predicate=lambda k, v: v > 1, negate=True))
    assert [node.pipe("k", value, 0) for value in (1, 2)] == [[Forwarded("k", 1, 0)], []]


@pytest.mark.parametrize(("negate", "kept"), [(False, ["yes"]), (True, ["", "no"])])
def test_a_predicate_may_return_any_truth_value(negate: bool, kept: list[str]) -> None:
    """Python functions often return a match or a count instead of a bool."""
    node = SingleNode(Filter(name="n", predicate=lambda k, v: v.count("y"), negate=negate))
    for value in ("yes", "", "no"):
        node.pipe("k", value, 0)
    assert node.values() == kept


def test_null_keys_and_values_reach_the_predicate() -> None:
    """A filter is how users guard against nulls, so it must see them."""
    node = SingleNode(Filter(name="n", predicate=lambda k, v: v is not None))
    assert node.pipe(None, "v", 0) == [Forwarded(None, "v", 0)]
    assert node.pipe(None, None, 0) == []
    assert node.drops == []
