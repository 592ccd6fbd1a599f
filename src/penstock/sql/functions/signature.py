"""Signatures of functions: patterns of types, and which arguments they match.

How a signature is written as text: ``signature_text``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.sql.errors import SqlTypeError
from penstock.model.sql.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
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
    """A type variable: the same type wherever its letter is used."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any type; with ``kind`` DECIMAL or STRUCT, any such type."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array whose elements match a pattern.

    ``converts`` says that elements may be converted: ``list[float]`` takes an ``ARRAY<INTEGER>``.
    """

    element: Pattern
    converts: bool = False

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class DictOf:
    """A map whose keys and values match two patterns; ``converts`` as for ``ListOf``."""

    key: Pattern
    value: Pattern
    converts: bool = False

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructField:
    """A field that a struct must have, unless it ``may_be_missing``."""

    name: str
    pattern: Pattern
    may_be_missing: bool = False


@dataclass(frozen=True, slots=True)
class StructOf:
    """A struct with these fields, and maybe others. ``class_`` is the dataclass that Python gets.

    A field ``A`` of the pattern is the field ``A`` of the struct, or the only field whose name
    differs from it in case alone.
    """

    fields: tuple[StructField, ...]
    class_: type

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'`{f.name}` {f.pattern}' for f in self.fields)}>"

    def places(self, struct: StructType) -> dict[str, Field | None]:
        """Return for each field of the pattern the field of ``struct`` that it reads."""
        found: dict[str, Field | None] = {}
        for wanted in self.fields:
            near = [f for f in struct.fields if f.name.upper() == wanted.name.upper()]
            exact = [f for f in near if f.name == wanted.name]
            found[wanted.name] = exact[0] if exact else near[0] if len(near) == 1 else None
        return found


@dataclass(frozen=True, slots=True)
class LambdaOf:
    """A lambda whose parameters and result match patterns."""

    parameters: tuple[Pattern, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


@dataclass(frozen=True, slots=True)
class LambdaArgument:
    """A lambda in a call before its types are known: only its number of parameters is."""

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
    | StructOf
    | LambdaOf
)
Argument = SqlType | LambdaArgument | None


class Bindings(dict[str, SqlType]):
    """Types of the variables; ``fixed`` ones are inside a collection and cannot become wider."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed: set[str] = set()


@dataclass(frozen=True, slots=True)
class Signature:
    """Patterns of the parameters and of the result; ``variadic`` is the position of ``...``.

    The last ``optional`` parameters before it may be left out: they have defaults.
    """

    parameters: tuple[Pattern, ...]
    result: Pattern
    variadic: int | None = None
    optional: int = 0

    def __str__(self) -> str:
        shown = [str(parameter) for parameter in self.parameters]
        fixed = self.fixed
        for place in range(fixed - self.optional, fixed):
            shown[place] = f"[{shown[place]}]"
        if self.variadic is not None:
            shown[self.variadic] += "..."
        return f"({', '.join(shown)})"

    @property
    def fixed(self) -> int:
        """The number of parameters that are not variadic; they can have defaults."""
        return len(self.parameters) if self.variadic is None else self.variadic

    def expanded(self, count: int) -> tuple[Pattern, ...] | None:
        """Return a pattern for each of ``count`` arguments; None if the number does not fit."""
        if self.fixed - self.optional <= count < self.fixed:
            return self.parameters[:count]
        if self.variadic is None:
            return self.parameters if len(self.parameters) == count else None
        repeats = count - len(self.parameters) + 1
        if repeats < 0:
            return None
        head, tail = self.parameters[: self.variadic], self.parameters[self.variadic + 1 :]
        return head + (self.parameters[self.variadic],) * repeats + tail

    def match(self, arguments: Sequence[Argument]) -> tuple[int, Bindings] | None:
        """Return how far the arguments are from the parameters, and the type variables."""
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
        # A signature with exactly these parameters is preferred to one with defaults.
        total += 500 if len(arguments) < self.fixed else 0
        return total + (0 if self.variadic is None else 1000), bound


def fit(
    pattern: Pattern, argument: Argument, bound: Bindings, *, is_inner: bool = False
) -> int | None:
    """Bind variables, and return how far an argument is from a pattern; None if it does not fit."""
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
        case ListOf(element, converts):
            inner = argument.element if isinstance(argument, ArrayType) else None
            return fit(element, inner, bound, is_inner=not converts) if inner else None
        case DictOf(key, value, converts):
            if not isinstance(argument, MapType):
                return None
            pairs = ((key, argument.key), (value, argument.value))
            return _total([fit(p, a, bound, is_inner=not converts) for p, a in pairs])
        case StructOf():
            return _fit_struct(pattern, argument, bound)
        case LambdaOf():
            return None
        case _:
            return _fit_exact(pattern, argument, is_inner=is_inner)


def _fit_struct(pattern: StructOf, argument: SqlType, bound: Bindings) -> int | None:
    if not isinstance(argument, StructType):
        return None
    places = pattern.places(argument)
    costs = []
    for wanted in pattern.fields:
        found = places[wanted.name]
        missing = 1 if wanted.may_be_missing else None
        costs.append(fit(wanted.pattern, found.type, bound) if found else missing)
    return _total(costs)


def _total(costs: list[int | None]) -> int | None:
    return None if None in costs else sum(cost or 0 for cost in costs)


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
    # Text is converted where the parameter is a date or a time.
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
    """Return the type of a pattern once its variables are known."""
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
        case StructOf(fields):
            return StructType(
                tuple(Field(f.name, substitute(f.pattern, bound, arguments)) for f in fields)
            )
        case AnyOf() | LambdaOf():
            raise SqlTypeError(
                "no-result-type",
                f"{pattern} is not the type of a result",
                fix="say the type with returns=...",
            )
        case _:
            return pattern


def target_type(pattern: Pattern, type_: SqlType | None, bound: Bindings) -> SqlType | None:
    """Return the type that an argument is converted to for a pattern."""
    if type_ is None:
        return None
    if isinstance(pattern, Variable):
        return bound[pattern.name]
    match pattern, type_:
        case AnyOf("DECIMAL"), _:
            return as_decimal(type_)
        case (ListOf(element, True), ArrayType(inner)):
            return ArrayType(target_type(element, inner, bound) or inner)
        case (DictOf(key, value, True), MapType(inner_key, inner_value)):
            return MapType(
                target_type(key, inner_key, bound) or inner_key,
                target_type(value, inner_value, bound) or inner_value,
            )
        case _:
            return pattern if isinstance(pattern, Scalar | DecimalType) else type_


def _decimal_of(arguments: Sequence[Argument]) -> DecimalType:
    """Return the type of a DECIMAL result: the type of the first DECIMAL argument."""
    for argument in arguments:
        if isinstance(argument, DecimalType):
            return argument
    whole = [a for a in arguments if isinstance(a, Scalar) and a in (INTEGER, BIGINT)]
    return as_decimal(whole[0]) if whole else DecimalType(10, 0)
