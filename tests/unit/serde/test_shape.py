"""What types and schemas say about the members of values."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from penstock.serde.shape import NamedMembers, NoMemberError, TypeShape


class Point(NamedTuple):
    x: int
    y: int


def test_named_tuple_has_names_and_positions() -> None:
    """An element of a tuple may be read by its position."""
    assert TypeShape(Point).member("x") == TypeShape(int)
    assert TypeShape(Point).member(0) is None
    with pytest.raises(NoMemberError) as caught:
        TypeShape(Point).member("z")
    assert caught.value.names == ("x", "y")


def test_union_has_the_members_of_all_its_types() -> None:
    """A member is refused only if no type of the union has it."""
    assert TypeShape(Point | None).member("y") == TypeShape(int)
    assert TypeShape(Point | dict[str, int]).member("z") is None
    with pytest.raises(NoMemberError):
        TypeShape(Point | str).member("z")


def test_members_of_a_schema_are_all_there_are() -> None:
    """A schema lists every member."""
    assert NamedMembers("Order", {"id": None}).member("id") is None
    with pytest.raises(NoMemberError):
        NamedMembers("Order", {"id": None}).member("name")
