"""The expression tree. Each expression is a function ``(key, value)``.

As in standard SQL, arithmetic and comparisons with None are None. A filter keeps a record only if
its condition is true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.expr.aggregate import (
    Aggregate,
    collected,
    earliest,
    largest,
    latest,
    mean,
    smallest,
    summed,
)

Evaluate = Callable[[Any, Any], Any]


class Expression:
    """A function of key and value with operators, made by ``col``, ``key``, ``value``, ``lit``."""

    __slots__ = ()

    def __call__(self, key: Any, value: Any) -> Any:
        raise NotImplementedError

    # Operators

    def __add__(self, other: Any) -> Expression:
        return Binary("+", self, wrapped(other))

    def __radd__(self, other: Any) -> Expression:
        return Binary("+", wrapped(other), self)

    def __sub__(self, other: Any) -> Expression:
        return Binary("-", self, wrapped(other))

    def __rsub__(self, other: Any) -> Expression:
        return Binary("-", wrapped(other), self)

    def __mul__(self, other: Any) -> Expression:
        return Binary("*", self, wrapped(other))

    def __rmul__(self, other: Any) -> Expression:
        return Binary("*", wrapped(other), self)

    def __truediv__(self, other: Any) -> Expression:
        return Binary("/", self, wrapped(other))

    def __floordiv__(self, other: Any) -> Expression:
        return Binary("//", self, wrapped(other))

    def __mod__(self, other: Any) -> Expression:
        return Binary("%", self, wrapped(other))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return Binary("==", self, wrapped(other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return Binary("!=", self, wrapped(other))

    def __lt__(self, other: Any) -> Expression:
        return Binary("<", self, wrapped(other))

    def __le__(self, other: Any) -> Expression:
        return Binary("<=", self, wrapped(other))

    def __gt__(self, other: Any) -> Expression:
        return Binary(">", self, wrapped(other))

    def __ge__(self, other: Any) -> Expression:
        return Binary(">=", self, wrapped(other))

    def __and__(self, other: Any) -> Expression:
        return Logical("and", self, wrapped(other))

    def __or__(self, other: Any) -> Expression:
        return Logical("or", self, wrapped(other))

    def __invert__(self) -> Expression:
        return Not(self)

    def __getitem__(self, name: Any) -> Expression:
        return Field(self, name)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise InvalidArgumentError(
            "expression-as-truth",
            f"the expression {self!r} has no truth value before it sees a record",
            fix="combine expressions with & | ~ instead of and, or, not",
        )

    # Methods

    def is_null(self) -> Expression:
        return IsNull(self)

    def is_not_null(self) -> Expression:
        return Not(IsNull(self))

    def is_in(self, choices: Any) -> Expression:
        """Whether the value is one of the choices."""
        return IsIn(self, tuple(choices))

    def fill_null(self, other: Any) -> Expression:
        """The value, or ``other`` if it is None."""
        return FillNull(self, wrapped(other))

    def lower(self) -> Expression:
        return Text("lower", self)

    def upper(self) -> Expression:
        return Text("upper", self)

    def strip(self) -> Expression:
        return Text("strip", self)

    def length(self) -> Expression:
        """The length of a text, a list or an object."""
        return Length(self)

    def split(self, separator: str | None = None) -> Expression:
        """The parts of a text between separators, or between white space."""
        return Split(self, separator)

    def cast(self, to: type) -> Expression:
        """The value as ``str``, ``int``, ``float`` or ``bool``.

        >>> (col("n").cast(str) + "!")("k", {"n": 7})
        '7!'
        """
        if to not in CASTS:
            raise InvalidArgumentError(
                "bad-cast",
                f"the expression {self!r} cannot be cast to {to!r}",
                fix="cast to str, int, float or bool",
            )
        return Cast(self, to)

    def with_fields(self, **members: Any) -> Expression:
        """The object with these members added or replaced."""
        return WithFields(self, _wrapped_members(members))

    # Aggregates

    def sum(self) -> Aggregate:
        """Add up the values that are not None; 0 if there are none."""
        return summed(self)

    def min(self) -> Aggregate:
        """Keep the smallest value that is not None."""
        return smallest(self)

    def max(self) -> Aggregate:
        """Keep the largest value that is not None."""
        return largest(self)

    def avg(self) -> Aggregate:
        """Keep the mean with sum and count: ``{"sum", "count", "avg"}``. None is left out."""
        return mean(self)

    def first(self) -> Aggregate:
        """Keep the first value that is not None."""
        return earliest(self)

    def last(self) -> Aggregate:
        """Keep the last value that is not None."""
        return latest(self)

    def collect(self) -> Aggregate:
        """Collect all values that are not None in a list, in their order."""
        return collected(self)


def wrapped(value: Any) -> Expression:
    return value if isinstance(value, Expression) else Literal(value)


def _shown(self: Expression) -> str:
    parts = [repr(getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]
    return f"{type(self).__name__.lower()}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal(Expression):
    """A constant."""

    constant: Any

    def __call__(self, key: Any, value: Any) -> Any:
        return self.constant

    def __repr__(self) -> str:
        return repr(self.constant)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Key(Expression):
    """The record's key."""

    def __call__(self, key: Any, value: Any) -> Any:
        return key

    def __repr__(self) -> str:
        return "key"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Value(Expression):
    """The record's value."""

    def __call__(self, key: Any, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return "value"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field(Expression):
    """A member of an object, an attribute of a dataclass, or an element of a list."""

    of: Expression
    name: Any

    def __call__(self, key: Any, value: Any) -> Any:
        return field_of(self.of(key, value), self.name)

    def __repr__(self) -> str:
        return (
            f"col({self.name!r})" if isinstance(self.of, Value) else f"{self.of!r}[{self.name!r}]"
        )


def field_of(item: Any, name: Any) -> Any:
    """Return the field; None if the item is None or does not have it."""
    if item is None:
        return None
    if isinstance(item, dict):
        return item.get(name)
    if isinstance(item, list | tuple) and isinstance(name, int):
        return item[name] if -len(item) <= name < len(item) else None
    return getattr(item, name, None)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Expression):
    """Arithmetic or a comparison; None if either side is None. Division by zero is None."""

    sign: str
    left: Expression
    right: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        left, right = self.left(key, value), self.right(key, value)
        if left is None or right is None:
            return None
        if right == 0 and self.sign in ("/", "//", "%"):
            return None
        return _OPERATORS[self.sign](left, right)

    def __repr__(self) -> str:
        return f"({self.left!r} {self.sign} {self.right!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Logical(Expression):
    """``and`` or ``or``. The result is None if a side is None and the other does not decide."""

    sign: str
    left: Expression
    right: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        decisive = self.sign == "or"
        left = self.left(key, value)
        if left is decisive:
            return decisive
        right = self.right(key, value)
        if right is decisive:
            return decisive
        return None if left is None or right is None else not decisive

    def __repr__(self) -> str:
        return f"({self.left!r} {'&' if self.sign == 'and' else '|'} {self.right!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Expression):
    """The opposite; None stays None."""

    of: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else not result

    def __repr__(self) -> str:
        return f"~{self.of!r}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsNull(Expression):
    """Whether the operand is None."""

    of: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        return self.of(key, value) is None

    __repr__ = _shown


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsIn(Expression):
    """Whether the operand is one of the choices."""

    of: Expression
    choices: tuple[Any, ...]

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else result in self.choices

    __repr__ = _shown


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FillNull(Expression):
    """The operand, or another expression if it is None."""

    of: Expression
    other: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return self.other(key, value) if result is None else result

    __repr__ = _shown


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Text(Expression):
    """A method of texts without arguments."""

    method: str
    of: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else getattr(result, self.method)()

    def __repr__(self) -> str:
        return f"{self.of!r}.{self.method}()"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Length(Expression):
    """The length of the operand."""

    of: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else len(result)

    __repr__ = _shown


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Struct(Expression):
    """A new object made of named expressions."""

    members: tuple[tuple[str, Expression], ...]

    def __call__(self, key: Any, value: Any) -> Any:
        return {name: member(key, value) for name, member in self.members}

    def __repr__(self) -> str:
        return f"struct({', '.join(f'{name}={member!r}' for name, member in self.members)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WithFields(Expression):
    """An object with some members added or replaced; None if the object is None."""

    of: Expression
    members: tuple[tuple[str, Expression], ...]

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        if result is None:
            return None
        return {**result, **{name: member(key, value) for name, member in self.members}}

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={member!r}" for name, member in self.members)
        return f"{self.of!r}.with_fields({members})"


#: What an expression can be cast to.
CASTS = (str, int, float, bool)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cast(Expression):
    """The operand as another type."""

    of: Expression
    to: type

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else self.to(result)

    def __repr__(self) -> str:
        return f"{self.of!r}.cast({self.to.__name__})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Split(Expression):
    """The parts of a text."""

    of: Expression
    separator: str | None

    def __call__(self, key: Any, value: Any) -> Any:
        result = self.of(key, value)
        return None if result is None else result.split(self.separator)

    def __repr__(self) -> str:
        return f"{self.of!r}.split({self.separator!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choice(Expression):
    """One of two expressions. A condition that is None counts as false."""

    condition: Expression
    yes: Expression
    no: Expression

    def __call__(self, key: Any, value: Any) -> Any:
        return self.yes(key, value) if self.condition(key, value) else self.no(key, value)

    def __repr__(self) -> str:
        return f"when({self.condition!r}).then({self.yes!r}).otherwise({self.no!r})"


@dataclass(frozen=True, slots=True, eq=False)
class When:
    """Begins a choice: ``when(condition).then(one).otherwise(other)``."""

    condition: Expression

    def then(self, yes: Any) -> Then:
        return Then(self.condition, wrapped(yes))


@dataclass(frozen=True, slots=True, eq=False)
class Then:
    """A choice without its ``otherwise``."""

    condition: Expression
    yes: Expression

    def otherwise(self, no: Any) -> Expression:
        return Choice(self.condition, self.yes, wrapped(no))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Left(Expression):
    """The stream's value in a join."""

    def __call__(self, left: Any, right: Any) -> Any:
        return left

    def __repr__(self) -> str:
        return "left"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Right(Expression):
    """The table's value in a join; None if a left join found no partner."""

    def __call__(self, left: Any, right: Any) -> Any:
        return right

    def __repr__(self) -> str:
        return "right"


#: The two values of a join, as expressions of its joiner.
left = Left()
right = Right()

#: The record's key and value, as expressions.
key = Key()
value = Value()


def col(name: Any) -> Expression:
    """A field of the value.

    >>> is_large = col("amount") > 50
    >>> is_large("k", {"amount": 60})
    True
    """
    return Field(value, name)


def lit(constant: Any) -> Expression:
    """A constant as an expression."""
    return Literal(constant)


def struct(**members: Any) -> Expression:
    """A new object with these members: ``struct(user=col("user"), doubled=col("n") * 2)``."""
    return Struct(_wrapped_members(members))


def when(condition: Any) -> When:
    """Choose between two expressions.

    >>> size = when(col("n") > 9).then("many").otherwise("few")
    >>> size("k", {"n": 10}), size("k", {"n": None})
    ('many', 'few')
    """
    return When(wrapped(condition))


def _wrapped_members(members: dict[str, Any]) -> tuple[tuple[str, Expression], ...]:
    return tuple((name, wrapped(member)) for name, member in members.items())
