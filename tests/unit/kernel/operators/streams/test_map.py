"""Giving records a new key and value."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.topology.nodes import Map
from tests.unit.kernel.single_node import Forwarded, SingleNode


def map_to(pair: Any) -> SingleNode:
    return SingleNode(Map(name="n", fn=lambda k, v: pair))


def test_key_and_value_are_replaced_and_time_and_headers_kept() -> None:
    """A map changes what a record says, not when it was said."""
    node = SingleNode(Map(name="n", fn=lambda k, v: (v, k)))
    assert node.pipe("k", "v", 7, (("h", None),)) == [Forwarded("v", "k", 7, (("h", None),))]


def test_a_list_of_two_is_a_pair() -> None:
    """What was decoded from JSON has lists where Python code has tuples."""
    assert map_to(["a", "b"]).pipe("k", "v", 0) == [Forwarded("a", "b", 0)]


def test_a_pair_may_hold_none() -> None:
    """A null key or value is a record; only a missing pair is a mistake."""
    assert map_to((None, None)).pipe("k", "v", 0) == [Forwarded(None, None, 0)]


def test_none_instead_of_a_pair_is_an_error_that_names_the_contract() -> None:
    """A function that forgot its return statement must not look like a filter."""
    with pytest.raises(NullArgumentError, match="map returned None") as caught:
        map_to(None).pipe("k", "v", 0)
    assert caught.value.fix is not None
    assert "(key, value) pair" in caught.value.fix


def test_text_of_two_characters_is_not_a_pair() -> None:
    """It would unpack into two keys without anyone noticing."""
    with pytest.raises(InvalidArgumentError, match="'ab' of type str"):
        map_to("ab").pipe("k", "v", 0)
