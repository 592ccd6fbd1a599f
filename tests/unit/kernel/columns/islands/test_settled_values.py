"""Values that a function may still hold are copied; others are not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.columns.islands.settled_values import settled
from penstock.model.windows.windowed import Window, Windowed


class Box:
    def __init__(self, held: Any) -> None:
        self.held = held


class Sealed:
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("sealed")


@pytest.mark.parametrize(
    "value", [None, 3, 2.5, "text", b"bytes", (1, "a"), Windowed("a", Window(0, 1))], ids=repr
)
def test_value_that_cannot_change_stays_the_same_object(value: Any) -> None:
    """A copy would lose the bytes that its column has."""
    assert settled(value) is value


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1}, {"a": {"b": [1]}}, [1, "a"], [{"a": 1}], (1, [2]), {1, 2},
        Windowed([1], Window(0, 1)),
    ],
    ids=repr,
)  # fmt: skip
def test_value_that_may_change_is_copied(value: Any) -> None:
    """The copy has the same type and content."""
    copy = settled(value)
    assert copy == value
    assert type(copy) is type(value)
    assert copy is not value


def test_what_a_value_holds_is_copied_as_well() -> None:
    """A function may change a list inside of it."""
    inner: list[Any] = [1]
    copies = settled({"a": inner}), settled([inner]), settled((inner,)), settled(Box(inner))
    inner.append(2)
    assert copies[0] == {"a": [1]}
    assert copies[1] == [[1]]
    assert copies[2] == ([1],)
    assert copies[3].held == [1]


def test_list_that_holds_itself_is_copied() -> None:
    """Copying its items one by one would not end."""
    value: list[Any] = [1]
    value.append(value)
    copy = settled(value)
    assert copy is not value
    assert copy[1] is copy


def test_object_that_cannot_be_copied_is_left_as_it_is() -> None:
    """Inside of another one, too."""
    one = Sealed()
    assert settled(one) is one
    holder = {"one": one}
    assert settled(holder) is holder
