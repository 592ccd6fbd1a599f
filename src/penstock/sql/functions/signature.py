"""What a function takes and gives, as text such as ``ARRAY<A>, (A) => B -> ARRAY<B>``.

A single capital is a type variable, ``DECIMAL`` any decimal, ``STRUCT`` any struct, ``ANY`` any
type, ``X...`` any number of arguments, ``(A) => B`` a lambda.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    Scalar,
    SqlType,
    StructType,
    as_decimal,
    can_widen,
    is_numeric,
    merge,
)

# The type of a bare time unit, such as DAYS in TIMESTAMPADD(DAYS, 1, ts).
INTERVAL_UNIT = Scalar("INTERVALUNIT")


@dataclass(frozen=True, slots=True)
class Variable:
    """A type that is the same wherever its letter stands."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any type; ``kind`` DECIMAL and STRUCT narrow it."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array of what a pattern describes."""

    element: Pattern

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class DictOf:
    """A map of what two patterns describe."""

    key: Pattern
    value: Pattern

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class LambdaOf:
    """A lambda that takes and gives what patterns describe."""

    parameters: tuple[Pattern, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


@dataclass(frozen=True, slots=True)
class LambdaArgument:
    """What a call knows of a lambda before its types: how many parameters it has."""

    arity: int

    def __str__(self) -> str:
        return f"LAMBDA({self.arity})"


Pattern = (
    Scalar
    | DecimalType
    | ArrayType
    | MapType
    | StructType
    | Variable
    | AnyOf
    | ListOf
    | DictOf
    | LambdaOf
)
Argument = SqlType | LambdaArgument | None


class Bindings(dict[str, SqlType]):
    """Types of the variables; ``fixed`` ones stand inside a collection and cannot widen."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed: set[str] = set()


_SCALARS: dict[str, Pattern] = {
    t.name: t
    for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, INTERVAL_UNIT)
}
_SCALARS |= {"INT": INTEGER, "UNIT": INTERVAL_UNIT}
_SCALARS |= {kind: AnyOf(kind) for kind in ("ANY", "DECIMAL", "STRUCT")}
_WORDS = re.compile(r"=>|->|\.\.\.|[A-Z_]+|[<>(),]")


@dataclass(frozen=True, slots=True)
class Signature:
    """Patterns of the parameters and of the result; ``variadic`` is the place of ``...``."""

    parameters: tuple[Pattern, ...]
    result: Pattern
    variadic: int | None = None

    def __str__(self) -> str:
        shown = [str(parameter) for parameter in self.parameters]
        if self.variadic is not None:
            shown[self.variadic] += "..."
        return f"({', '.join(shown)})"

    def expanded(self, count: int) -> tuple[Pattern, ...] | None:
        """Gives a pattern for each of ``count`` arguments, or None when they do not fit."""
        if self.variadic is None:
            return self.parameters if len(self.parameters) == count else None
        repeats = count - len(self.parameters) + 1
        if repeats < 0:
            return None
        head, tail = self.parameters[: self.variadic], self.parameters[self.variadic + 1 :]
        return head + (self.parameters[self.variadic],) * repeats + tail

    def match(self, arguments: Sequence[Argument]) -> tuple[int, Bindings] | None:
        """Gives how far the arguments are from the parameters, and the type variables."""
        patterns = self.expanded(len(arguments))
        if patterns is None:
            return None
        bound = Bindings()
        total = 0
        for pattern, argument in zip(patterns, arguments, strict=True):
            cost = fit(pattern, argument, bound)
            if cost is None:
                return None
            total += cost
        return total + (0 if self.variadic is None else 1000), bound


def parse_signature(text: str) -> Signature:
    """Reads a signature.

    >>> str(parse_signature("STRING, A... -> ARRAY<A>"))
    '(STRING, A...)'
    """
    words = _WORDS.findall(text)
    reader = _Reader(words)
    parameters: list[Pattern] = []
    variadic = None
    while reader.peek() != "->":
        parameters.append(reader.pattern())
        if reader.peek() == "...":
            reader.next()
            variadic = len(parameters) - 1
        if reader.peek() == ",":
            reader.next()
    reader.next()
    return Signature(tuple(parameters), reader.pattern(), variadic)


class _Reader:
    """A place in the words of a signature."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 0

    def peek(self) -> str:
        return self._words[self._at]

    def next(self) -> str:
        self._at += 1
        return self._words[self._at - 1]

    def pattern(self) -> Pattern:
        word = self.next()
        if word == "(":
            return self._lambda()
        if word == "ARRAY":
            self.next()
            element = self.pattern()
            self.next()
            return ListOf(element)
        if word == "MAP":
            self.next()
            key = self.pattern()
            self.next()
            value = self.pattern()
            self.next()
            return DictOf(key, value)
        return Variable(word) if len(word) == 1 else _SCALARS[word]

    def _lambda(self) -> LambdaOf:
        parameters = [self.pattern()]
        while self.next() == ",":
            parameters.append(self.pattern())
        self.next()
        return LambdaOf(tuple(parameters), self.pattern())


def fit(
    pattern: Pattern, argument: Argument, bound: Bindings, *, is_inner: bool = False
) -> int | None:
    """Gives how far an argument is from a pattern, None when it does not fit; binds variables."""
    if argument is None:
        return 0
    if isinstance(argument, LambdaArgument):
        fits = isinstance(pattern, LambdaOf) and len(pattern.parameters) == argument.arity
        return 0 if fits else None
    match pattern:
        case Variable(name):
            return _bind(name, argument, bound, is_inner=is_inner)
        case AnyOf(kind):
            return _fit_any(kind, argument, is_inner=is_inner)
        case ListOf(element):
            inner = argument.element if isinstance(argument, ArrayType) else None
            return fit(element, inner, bound, is_inner=True) if inner else None
        case DictOf(key, value):
            if not isinstance(argument, MapType):
                return None
            costs = [
                fit(key, argument.key, bound, is_inner=True),
                fit(value, argument.value, bound, is_inner=True),
            ]
            return None if None in costs else sum(cost or 0 for cost in costs)
        case LambdaOf():
            return None
        case _:
            return _fit_exact(pattern, argument, is_inner=is_inner)


def _fit_any(kind: str, argument: SqlType, *, is_inner: bool) -> int | None:
    if kind == "ANY":
        return 100
    if kind == "STRUCT":
        return 0 if isinstance(argument, StructType) else None
    if isinstance(argument, DecimalType):
        return 0
    return 2 if argument in (INTEGER, BIGINT) and not is_inner else None


def _fit_exact(pattern: SqlType, argument: SqlType, *, is_inner: bool) -> int | None:
    if pattern == argument:
        return 0
    # Elements of a collection are not converted one by one, only whole arguments are.
    if is_inner:
        return None
    # Text is read as a date or time where one is wanted.
    if argument == STRING and pattern in (DATE, TIME, TIMESTAMP):
        return 50
    if not can_widen(argument, pattern):
        return None
    return {BIGINT: 1, DOUBLE: 3}.get(pattern, 2) if isinstance(pattern, Scalar) else 2


def _bind(name: str, argument: SqlType, bound: Bindings, *, is_inner: bool) -> int | None:
    known = bound.get(name)
    if known is None or known == argument:
        bound[name] = argument
        bound.fixed |= {name} if is_inner else set()
        return 10
    if is_inner or not (is_numeric(known) and is_numeric(argument)):
        return None
    if name in bound.fixed and not can_widen(argument, known):
        return None
    bound[name] = merge(known, argument)
    return 12


def substitute(pattern: Pattern, bound: Bindings, arguments: Sequence[Argument] = ()) -> SqlType:
    """Gives the type a pattern stands for once its variables are known."""
    match pattern:
        case Variable(name):
            if name not in bound:
                raise SqlTypeError(
                    "unknown-null-type",
                    "the result's type depends on an argument that is NULL",
                    fix="CAST the NULL to a type",
                )
            return bound[name]
        case AnyOf("DECIMAL"):
            return _decimal_of(arguments)
        case ListOf(element):
            return ArrayType(substitute(element, bound, arguments))
        case DictOf(key, value):
            return MapType(substitute(key, bound, arguments), substitute(value, bound, arguments))
        case AnyOf() | LambdaOf():
            raise SqlTypeError("no-result-type", f"{pattern} is not the type of a result")
        case _:
            return pattern


def target_type(pattern: Pattern, type_: SqlType | None, bound: Bindings) -> SqlType | None:
    """Gives the type an argument is converted to where a pattern takes it."""
    if type_ is None:
        return None
    if isinstance(pattern, Variable):
        return bound[pattern.name]
    if pattern == AnyOf("DECIMAL"):
        return as_decimal(type_)
    return pattern if isinstance(pattern, Scalar | DecimalType) else type_


def _decimal_of(arguments: Sequence[Argument]) -> DecimalType:
    """Gives the type of a DECIMAL result: that of the first argument that is one."""
    for argument in arguments:
        if isinstance(argument, DecimalType):
            return argument
    whole = [a for a in arguments if isinstance(a, Scalar) and a in (INTEGER, BIGINT)]
    return as_decimal(whole[0]) if whole else DecimalType(10, 0)
