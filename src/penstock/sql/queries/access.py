"""How a pull query finds the rows of a table: by key, by a range of keys, or by a scan.

``access_of`` reads the conditions of WHERE. Conditions that do not restrict keys are checked for
every row that is found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from penstock.model.java import MAX_INT, MAX_LONG, MIN_INT, MIN_LONG
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    DecimalType,
    SqlType,
    is_numeric,
)
from penstock.sql.ast.chains import chain
from penstock.sql.ast.expressions import (
    And,
    Between,
    ColumnRef,
    Comparison,
    Expression,
    FunctionCall,
    In,
    NullLiteral,
    Or,
)
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import WINDOWSTART
from penstock.sql.expressions import Scope
from penstock.sql.expressions.compiler import compile_node
from penstock.sql.functions.declare import BUILT_IN
from penstock.sql.planner.steps import SourceStep

#: Functions that return another value at each call.
_CHANGING = frozenset(
    ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "NOW", "PROCTIME", "RANDOM",
     "UNIX_DATE", "UNIX_TIMESTAMP", "UUID")
)  # fmt: skip
#: If there are more keys than this, a scan is used.
_MOST_KEYS = 1_000
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: A value that no key can have, such as 1.5 where keys are whole numbers.
NO_KEY = object()


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression without columns: its value as a key, and its span."""

    value: Any
    expression: Expression


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """A lookup of keys, each with one constant for every column of the key."""

    keys: tuple[tuple[Constant, ...], ...]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """All keys from ``low`` to ``high``, both included; None is an open end."""

    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a column: an operator such as ``>=``, and a constant."""

    operator: str
    constant: Constant


def start_range(bounds: Iterable[tuple[str, int]]) -> tuple[int | None, int | None]:
    """Return the first and the last start of windows that bounds allow; None is an open end.

    >>> start_range([(">", 10), ("<=", 20)])
    (11, 20)
    """
    firsts, lasts = [], []
    for operator, value in bounds:
        if operator in (">", ">=", "="):
            firsts.append(value + (operator == ">"))
        if operator in ("<", "<=", "="):
            lasts.append(value - (operator == "<"))
    return max(firsts, default=None), min(lasts, default=None)


@dataclass(frozen=True, slots=True)
class Access:
    """How to find the rows, the conditions to check for each, and bounds of WINDOWSTART.

    The conditions of the bounds are also checked, because not every kind of access uses the bounds.
    """

    way: KeyLookup | KeyRange | Scan
    rest: tuple[Expression, ...]
    starts: tuple[Bound, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind of access by its name in EXPLAIN and in metrics."""
        return _KINDS[type(self.way)]


#: What EXPLAIN notes of a table over a topic that no query writes.
ONLY_MATERIALIZED = (
    "In ksqlDB the table must be materialized for this: made with CREATE TABLE ... AS SELECT"
)
#: The plans that do not read one table row by row, as EXPLAIN names them.
STREAM = "STREAM_SCAN: reads the records of the stream's topic up to their present end"
GENERAL = "GENERAL: reads all rows of every source and runs the topology below over them"


def described(access: Access, source: DataSource) -> str:
    """Return a sentence for EXPLAIN that says how the rows of a table are found."""
    match access.way:
        case KeyLookup(keys):
            what = f"looks up {len(keys)} key{'s' if len(keys) > 1 else ''} of {source.name}"
            if source.window is not None:
                what += f", {_starts(access)}"
        case KeyRange(low, high):
            bounds = [("from", low), ("to", high)]
            shown = " ".join(f"{word} {bound!r}" for word, bound in bounds if bound is not None)
            what = f"reads the keys of {source.name} {shown}"
        case _:
            what = f"reads all rows of {source.name}"
    rest = len(access.rest)
    checks = f", checks {rest} condition{'s' if rest > 1 else ''}" if rest else ""
    return f"{access.kind}: {what}{checks}"


def _starts(access: Access) -> str:
    first, last = start_range((each.operator, each.constant.value) for each in access.starts)
    bounds = [("from", first), ("to", last)]
    shown = " ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)
    return f"windows that start {shown}" if shown else "all windows"


_KINDS: dict[type, str] = {KeyLookup: "KEY_LOOKUP", KeyRange: "RANGE_SCAN", Scan: "TABLE_SCAN"}
Evaluate = Callable[[Expression], tuple[SqlType | None, Any] | None]


def access_of(step: SourceStep, conditions: Sequence[Expression], scope: Scope) -> Access:
    """Choose how to find the rows of a table for which all conditions of a query hold.

    ``scope`` has functions and types; its columns are not used.
    """
    parts = [part for condition in conditions for part in _parts(condition)]
    finder = _Finder(step.source, parts, _evaluator(scope))
    found = finder.lookup() or finder.range() or Access(Scan(), tuple(parts))
    return finder.with_windows(found)


def _parts(condition: Expression) -> list[Expression]:
    if not isinstance(condition, And):
        return [condition]
    return [each for part in chain(condition) for each in _parts(part)]


def _evaluator(scope: Scope) -> Evaluate:
    alone = Scope((), scope.functions, scope.types)

    def evaluate(expression: Expression) -> tuple[SqlType | None, Any] | None:
        """Return type and value of an expression without columns; None if there is no value."""
        if not all(_is_constant(node) for node in walk(expression)):
            return None
        compiled = compile_node(expression, alone)
        try:
            return compiled.type, compiled.evaluate(())
        # A function that fails is NULL for every row; the condition then decides.
        except Exception:  # noqa: BLE001
            return None

    return evaluate


def _is_constant(node: Node) -> bool:
    """Return whether a part of an expression is known to have the same value each time."""
    if isinstance(node, FunctionCall):
        return node.name in BUILT_IN.scalars and node.name not in _CHANGING
    return not isinstance(node, ColumnRef)


class _Finder:
    """Reads the conditions on the key of one table."""

    def __init__(self, source: DataSource, parts: list[Expression], evaluate: Evaluate) -> None:
        self._source = source
        self._parts = parts
        self._evaluate = evaluate
        self._types = {column.name: column.type for column in source.schema.key}

    def lookup(self) -> Access | None:
        """Return the keys if the conditions name a value for every column of the key."""
        chosen: dict[str, tuple[Constant, ...]] = {}
        rest: list[Expression] = []
        for part in self._parts:
            column, values = self._equal(part)
            if values is None or column in chosen:
                rest.append(part)
            else:
                chosen[column] = values
        if not self._types or chosen.keys() != self._types.keys():
            return None
        count = 1
        for values in chosen.values():
            count *= len(values)
        if count > _MOST_KEYS:
            return None
        keys = itertools.product(*(chosen[name] for name in self._types))
        return Access(KeyLookup(tuple(keys)), tuple(rest))

    def _equal(self, part: Expression) -> tuple[str, tuple[Constant, ...] | None]:
        """Return a key column and the values that a condition allows for it."""
        match part:
            case Comparison("=", left, right):
                pairs = ((left, right), (right, left))
                column, other = next(((c, o) for c, o in pairs if self._is_key(c)), (left, right))
                return self._values(column, (other,))
            case In(value=column, items=items, negated=False):
                return self._values(column, items)
            case Or():
                return self._any_of(chain(part))
            case _:
                return "", None

    def _any_of(self, parts: Sequence[Expression]) -> tuple[str, tuple[Constant, ...] | None]:
        found = [self._equal(part) for part in parts]
        names = {name for name, _ in found}
        if len(names) != 1 or any(values is None for _, values in found):
            return "", None
        together = [value for _, values in found for value in values or ()]
        return names.pop(), _distinct(together)

    def _is_key(self, expression: Expression) -> bool:
        return isinstance(expression, ColumnRef) and expression.name in self._types

    def _values(
        self, column: Expression, items: Sequence[Expression]
    ) -> tuple[str, tuple[Constant, ...] | None]:
        if not isinstance(column, ColumnRef) or column.name not in self._types:
            return "", None
        values: list[Constant] = []
        for item in items:
            if isinstance(item, NullLiteral):
                raise AnalysisError(
                    "null-key",
                    f"{column.name} is a key of {self._source.name}, and keys are never NULL",
                    fix="leave NULL out",
                    span=item.span,
                )
            constant, type_ = self._evaluate(item), self._types[column.name]
            if constant is not None and constant[0] == STRING and is_numeric(type_):
                raise AnalysisError(
                    "wrong-key-type",
                    f"{column.name} is {type_} and a key of {self._source.name}, and this is text",
                    fix="write the number without quotes",
                    span=item.span,
                )
            value = None if constant is None else key_value(*constant, type_)
            if value is None:
                return column.name, None
            values.append(Constant(value, item))
        return column.name, _distinct(values)

    def range(self) -> Access | None:
        """Return a range of keys. Only the bytes of text keys have the order of their values."""
        (name, type_), *others = self._types.items() or [("", STRING)]
        source = self._source
        if others or type_ != STRING or source.window is not None or not name:
            return None
        if source.key_format.name != "KAFKA":
            return None
        lows, highs = [], []
        for part in self._parts:
            for bound in self._bounds(part, name, STRING):
                if bound.operator in (">", ">=", "="):
                    lows.append(bound.constant.value)
                if bound.operator in ("<", "<=", "="):
                    highs.append(bound.constant.value)
        if not lows and not highs:
            return None
        low, high = max(lows, default=None), min(highs, default=None)
        return Access(KeyRange(low, high), tuple(self._parts))

    def _bounds(self, part: Expression, name: str, type_: SqlType) -> list[Bound]:
        """Return the bounds that a condition sets for a column."""
        match part:
            case Comparison(operator, ColumnRef(name=found), right) if found == name:
                return self._bound(operator, right, type_)
            case Comparison(operator, left, ColumnRef(name=found)) if found == name:
                return self._bound(_FLIPPED.get(operator, ""), left, type_)
            case Between(ColumnRef(name=found), low, high, negated=False) if found == name:
                return [*self._bound(">=", low, type_), *self._bound("<=", high, type_)]
            case _:
                return []

    def _bound(self, operator: str, other: Expression, type_: SqlType) -> list[Bound]:
        constant = self._evaluate(other)
        if operator not in _FLIPPED or constant is None or constant[1] is None:
            return []
        found, value = constant
        is_whole = found in (INTEGER, BIGINT) and type_ == BIGINT
        if found != type_ and not is_whole:
            return []
        return [Bound(operator, Constant(value, other))]

    def with_windows(self, access: Access) -> Access:
        """Add the bounds on WINDOWSTART."""
        if self._source.window is None:
            return access
        found = [bound for part in self._parts for bound in self._bounds(part, WINDOWSTART, BIGINT)]
        return replace(access, starts=tuple(found))


def _distinct(values: Sequence[Constant]) -> tuple[Constant, ...]:
    """Remove duplicate keys, so that each row is returned once."""
    found: dict[str, Constant] = {}
    for value in values:
        found.setdefault(repr(value.value), value)
    return tuple(found.values())


def key_value(type_: SqlType | None, value: Any, key_type: SqlType) -> Any:
    """Convert a value to the type of a key column.

    ``NO_KEY`` means that no key equals the value; None means that only a comparison can decide.

    >>> key_value(INTEGER, 7, DOUBLE), key_value(DOUBLE, 1.5, INTEGER) is NO_KEY
    (7.0, True)
    """
    if value is None or type_ is None:
        return None
    if type_ == key_type:
        return value
    if not is_numeric(type_) or not is_numeric(key_type):
        return None
    if key_type == DOUBLE:
        return float(value)
    if isinstance(key_type, DecimalType):
        return None
    whole = _whole(value)
    if whole is None or whole != value:
        return NO_KEY
    low, high = (MIN_INT, MAX_INT) if key_type == INTEGER else (MIN_LONG, MAX_LONG)
    return whole if low <= whole <= high else NO_KEY


def _whole(value: float | Decimal | int) -> int | None:
    try:
        return int(value)
    except (OverflowError, ValueError):
        return None
