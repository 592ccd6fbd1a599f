"""What a function of the user does besides computing its result, as its bytecode shows."""

from __future__ import annotations

import math
import operator
import random
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from penstock.kernel.columns.function_proof import side_effect, unread_arguments

TIERS = {"gold": 3, "silver": {"points": [1, 2]}}
HANDLERS = {"gold": print}
SEEN: list[Any] = []
counted = 0


class Order:
    """A class of the user, whose methods may do anything."""

    def total(self, value: Any) -> Any:
        return value


ORDER = Order()


def band(value: Any) -> str:
    amount = value["amount"]
    try:
        return "high" if amount > 75 else f"{amount:.1f}"
    except TypeError as error:
        raise ValueError("no amount") from error


def first(value: Any) -> Any:
    for number, item in enumerate(value):
        if item:
            return number, item
    return None


def nested(value: Any) -> Any:
    def inner(item: Any) -> Any:
        return item, value

    return [inner(item) for item in value]


def matched(value: Any) -> Any:
    match value:
        case {"n": int(number)}:
            return number
        case [one, *_]:
            return one
        case _:
            return None


def by_itself(value: Any) -> Any:
    return value if value < 1 else by_itself(value - 1)


def bound(prefix: str) -> Callable[[Any], str]:
    return lambda value: f"{prefix}{value}"


@pytest.mark.parametrize(
    "fn",
    [
        band, first, nested, matched, by_itself, bound("a"), len, str, str.upper, dict.get,
        math.floor, operator.add, operator.itemgetter("a"), partial(band), partial(pow, 2),
        lambda value: value,
        lambda key, value: value["n"] > 1 and key is not None,
        lambda value: {**value, "tier": TIERS[value["tier"]], "at": math.sqrt(value["n"])},
        lambda value: [word.lower() for word in value.split(" ") if word not in TIERS],
        lambda value: sorted(value.items(), key=lambda pair: pair[1]),
        lambda value: sum(item * item for item in value),
        lambda windowed, _: f"{windowed.key}@{windowed.start}",
        lambda value: band(value) + str(first(value)),
        lambda value, *rest, scale=2, **named: (value, rest, scale, named),
        lambda value: datetime.fromisoformat(value["at"]).year,
        lambda value: value[1:] or value[-1] if isinstance(value, list) else not value,
    ],
)  # fmt: skip
def test_function_that_only_computes_is_proven(fn: Any) -> None:
    """Operators, methods that read, constants, and other functions of this kind."""
    assert side_effect(fn) is None


def changes_its_argument(value: Any) -> Any:
    value["n"] = 1
    return value


def deletes(value: Any) -> Any:
    del value["n"]
    return value


def adds_in_place(value: Any) -> Any:
    items = value["items"]
    items += [1]
    return items


def counts(value: Any) -> Any:
    global counted  # noqa: PLW0603
    counted = counted + 1
    return value


def sets_an_attribute(value: Any) -> Any:
    ORDER.seen = value  # type: ignore[attr-defined]
    return value


def imports(value: Any) -> Any:
    import random as chance  # noqa: PLC0415

    return chance


def generates(value: Any) -> Iterator[Any]:
    yield value


async def waits(value: Any) -> Any:
    return value


def counting() -> Callable[[Any], int]:
    number = 0

    def count(_: Any) -> int:
        nonlocal number
        number = number + 1
        return number

    return count


def not_yet() -> Callable[[Any], Any]:
    def use(value: Any) -> Any:
        return late

    if not SEEN:
        return use
    late = 1
    return use


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (changes_its_argument, "assigns to an item"),
        (deletes, "deletes an item"),
        (adds_in_place, "uses '+='"),
        (counts, "changes a variable outside of it"),
        (sets_an_attribute, "uses 'ORDER', a Order"),
        (imports, "imports a module"),
        (generates, "is a generator or a coroutine"),
        (waits, "is a generator or a coroutine"),
        (counting(), "changes the variable 'number' outside of it"),
        (not_yet(), "uses 'late', which has no value yet"),
        (print, "calls 'print'"),
        (ORDER.total, "calls 'Order.total'"),
        (Order, "calls 'Order'"),
        (list.append, "calls 'list.append'"),
        (partial(SEEN.append), "calls 'list.append'"),
        (partial(band, ORDER), "uses 'an argument', a Order"),
        (lambda value: print(value), "uses 'print'"),
        (lambda value: SEEN.append(value), "uses 'append'"),
        (lambda value: value.pop("n"), "uses 'pop'"),
        (lambda value: value.__class__, "uses '__class__'"),
        (lambda value: getattr(value, value)("n"), "uses 'getattr'"),
        (lambda value: HANDLERS[value](value), "uses 'HANDLERS', which holds a builtin_function"),
        (lambda value: random.random(), "uses the module 'random'"),
        (lambda value: time.time(), "uses the module 'time'"),
        (lambda value: datetime.now(), "uses 'now'"),
        (lambda value: counts(value), "calls 'counts', which changes a variable"),
        (lambda value: [SEEN.append(item) for item in value], "uses 'append'"),
        (lambda value: Order().total(value), "uses 'Order'"),
        (lambda value: missing_name, "uses 'missing_name', which does not exist"),  # type: ignore[name-defined]  # noqa: F821
        (lambda value, seen=ORDER: seen, "uses 'a default', a Order"),
        (lambda value: id(value), "uses 'id'"),
        (lambda value: next(value), "uses 'next'"),
        (lambda value: value and SEEN.clear(), "uses 'clear'"),
    ],
)
def test_function_that_may_do_more_is_refused_with_the_reason(fn: Any, why: str) -> None:
    """The reason continues a sentence about the function."""
    found = side_effect(fn)
    assert found is not None
    assert found.startswith(why)


def test_constant_that_contains_itself_is_not_data() -> None:
    ring: list[Any] = []
    ring.append(ring)
    found = side_effect(lambda value: ring)
    assert found == "uses 'ring', which holds a list"


def test_arguments_that_are_never_read_are_found() -> None:
    """Their columns need not be decoded."""
    assert unread_arguments(lambda key, value: value) == {0}
    assert unread_arguments(lambda key, value, state: state + value) == {0}
    assert unread_arguments(lambda key, value: [key for _ in value]) == frozenset()
    assert unread_arguments(lambda key, value: [*(key for _ in "a")]) == {1}
    assert unread_arguments(lambda *both: 1) == frozenset()
    assert unread_arguments(str) == frozenset()
