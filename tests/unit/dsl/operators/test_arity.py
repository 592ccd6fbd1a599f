"""How a user's function wants to be called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.operators.arity import check_arity, number_of_arguments
from penstock.errors import InvalidArgumentError, NullArgumentError

_SHAPES = ("value",), ("key", "value")


def _three(a: Any, b: Any, c: Any) -> Any:
    return a


@pytest.mark.parametrize(
    ("fn", "count"),
    [
        (lambda value: value, 1),
        (lambda key, value: value, 2),
        (lambda *arguments: arguments, 1),
        (lambda value, default=0: value, 1),
        (str.upper, 1),
        (len, 1),
        # Built-in classes show no signature: they are called in the plain way.
        (int, 1),
    ],
)
def test_first_shape_that_fits_is_used(fn: Callable[..., Any], count: int) -> None:
    """Signatures decide; without one it is the plain shape."""
    assert number_of_arguments("map_values", "mapper", fn, *_SHAPES) == count


def test_wrong_arity_names_function_signature_line_and_shapes() -> None:
    """The message says all one needs to repair the call."""
    stream = StreamsBuilder().stream("in")
    with pytest.raises(InvalidArgumentError) as caught:
        stream.map_values(_three)  # type: ignore[call-overload]
    error = caught.value
    assert error.code == "wrong-arity"
    assert "map_values" in error.message
    assert "_three(a: 'Any', b: 'Any', c: 'Any')" in error.message
    assert "(value) or (key, value)" in str(error.fix)
    assert str(error.at).startswith("test_arity.py:")


def test_missing_function_and_non_function_are_told_apart() -> None:
    """None is most often a forgotten return, anything else a wrong argument."""
    with pytest.raises(NullArgumentError):
        check_arity("filter", "predicate", None, "key", "value")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError) as caught:
        check_arity("filter", "predicate", 3, "key", "value")  # type: ignore[arg-type]
    assert caught.value.code == "not-a-function"


@pytest.mark.parametrize(
    "call",
    [
        lambda stream: stream.filter(lambda value: True),
        lambda stream: stream.map(lambda value: (1, value)),
        lambda stream: stream.select_key(lambda: 1),
        lambda stream: stream.for_each(lambda: None),
        lambda stream: stream.to(lambda key, value: "topic"),
        lambda stream: stream.split().branch(lambda value: True),
        lambda stream: stream.group_by(lambda value: value),
        lambda stream: stream.group_by_key().reduce(lambda value: value),
        lambda stream: stream.group_by_key().aggregate(lambda key: 0, _three),
        lambda stream: stream.group_by_key().aggregate(int, lambda value, total: total),
        lambda stream: stream.group_by_key().cogroup(lambda value: value),
    ],
)
def test_every_operator_checks_its_functions(call: Callable[[Any], object]) -> None:
    """A function that cannot be called is refused where it is given, not when a record comes."""
    with pytest.raises(InvalidArgumentError) as caught:
        call(StreamsBuilder().stream("in"))
    assert caught.value.code == "wrong-arity"
