"""Fields that an expression reads and that a record's value may not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from penstock.expr.aggregates import NamedAggregates, SingleAggregate
from penstock.expr.expression import Expression, Field, FillNull, IsNull, Value


class AbsentFields:
    """Finds the first field that expressions need and that an object lacks.

    A field that is there and null is none of them, nor is one that ``is_null`` or ``fill_null``
    asks about: the program expects that it may be missing.

    >>> from penstock.expr.expression import Literal
    >>> absent = AbsentFields([Field(Value(), "amuont") > Literal(5)])
    >>> absent.first({"amount": 7}), absent.first({"amuont": None}), absent.first(None)
    ('amuont', None, None)
    """

    __slots__ = ("names",)

    def __init__(self, expressions: Iterable[Expression]) -> None:
        found = (name for each in expressions for name in _needed(each))
        self.names: tuple[Any, ...] = tuple(dict.fromkeys(found))

    @staticmethod
    def of_predicate(predicate: Any) -> AbsentFields:
        """Return those of a condition; a function has none that can be known."""
        return AbsentFields([predicate] if isinstance(predicate, Expression) else [])

    @staticmethod
    def of_aggregator(aggregator: Any) -> AbsentFields:
        """Return those of aggregates over expressions."""
        match getattr(aggregator, "__self__", None):
            case SingleAggregate(only=only):
                return AbsentFields([only.of])
            case NamedAggregates(named=named):
                return AbsentFields(each.of for each in named.values())
            case _:
                return AbsentFields([])

    def first(self, value: Any) -> Any:
        """Return the name of the first field that an object lacks; None if it has all of them."""
        if isinstance(value, dict):
            for name in self.names:
                if name not in value:
                    return name
        return None


def _needed(expression: Expression) -> Iterator[Any]:
    """Return the names of the fields of the value that an expression needs."""
    if isinstance(expression, IsNull | FillNull):
        return
    if isinstance(expression, Field) and isinstance(expression.of, Value):
        yield expression.name
        return
    if is_dataclass(expression):
        for each in fields(expression):
            yield from _inside(getattr(expression, each.name))


def _inside(part: Any) -> Iterator[Any]:
    """Return the same of a part of an expression: an operand, or members with their names."""
    if isinstance(part, Expression):
        yield from _needed(part)
    elif isinstance(part, tuple):
        for each in part:
            yield from _inside(each)
