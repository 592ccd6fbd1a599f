"""Expressions as written: nothing is resolved or typed here, see ``penstock.sql.expressions``."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from penstock.sql.ast.node import Node
from penstock.sql.ast.types import TypeNode

ArithmeticOperator = Literal["+", "-", "*", "/", "%", "||"]
ComparisonOperator = Literal[
    "=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"
]


@dataclass(frozen=True, slots=True)
class NullLiteral(Node):
    """``NULL``."""


@dataclass(frozen=True, slots=True)
class BooleanLiteral(Node):
    """``TRUE`` or ``FALSE``."""

    value: bool


@dataclass(frozen=True, slots=True)
class IntegerLiteral(Node):
    """A whole number; INTEGER when it fits 32 bits, else BIGINT."""

    value: int


@dataclass(frozen=True, slots=True)
class DecimalLiteral(Node):
    """A number with a decimal point; the digits written give precision and scale."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class DoubleLiteral(Node):
    """A number with an exponent."""

    value: float


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    """Text between single quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class TypedLiteral(Node):
    """A type's name before its text: ``DATE '2026-01-31'``."""

    type_name: str
    text: str


@dataclass(frozen=True, slots=True)
class IntervalLiteral(Node):
    """``INTERVAL '5' MINUTES``: can be added to a date, a time or a timestamp."""

    count: int
    unit: str


@dataclass(frozen=True, slots=True)
class ColumnRef(Node):
    """A column, a lambda's parameter or, with ``source``, a column of one source."""

    name: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic or concatenation of two values."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A sign. The parser folds a minus before a number into the literal."""

    operator: Literal["+", "-"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A comparison of two values."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """``left AND right``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Node):
    """``left OR right``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Node):
    """``NOT operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Between(Node):
    """``value [NOT] BETWEEN low AND high``, both ends included."""

    value: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In(Node):
    """``value [NOT] IN (items)``."""

    value: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InQuery(Node):
    """``value [NOT] IN (SELECT ...)``; ``query`` is a ``Query``."""

    value: Expression
    query: Node
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists(Node):
    """``EXISTS (SELECT ...)``; ``query`` is a ``Query``."""

    query: Node


@dataclass(frozen=True, slots=True)
class Like(Node):
    """``value [NOT] LIKE pattern [ESCAPE 'c']``."""

    value: Expression
    pattern: Expression
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """``value IS [NOT] NULL``."""

    value: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AtTimeZone(Node):
    """``value AT TIME ZONE 'zone'``."""

    value: Expression
    zone: str


@dataclass(frozen=True, slots=True)
class When(Node):
    """One branch of a ``CASE``."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Node):
    """``CASE [operand] WHEN ... THEN ... [ELSE default] END``."""

    operand: Expression | None
    whens: tuple[When, ...]
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``CAST(value AS type)``."""

    value: Expression
    type: TypeNode


@dataclass(frozen=True, slots=True)
class Dereference(Node):
    """``base->field``."""

    base: Expression
    field: str


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """``base[index]``: an element of an array, counted from 1, or a value of a map."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class CreateArray(Node):
    """``ARRAY[items]``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapEntry(Node):
    """``key := value`` inside ``MAP(...)``."""

    key: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class CreateMap(Node):
    """``MAP(key := value, ...)``."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class StructField(Node):
    """``name := value`` inside ``STRUCT(...)``."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class CreateStruct(Node):
    """``STRUCT(name := value, ...)``."""

    fields: tuple[StructField, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """``(x, y) => body``; only an argument of a function."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    """``name(arguments)``; ``is_star`` is ``f(*)``, ``is_distinct`` is ``f(DISTINCT x)``."""

    name: str
    arguments: tuple[Expression | Lambda, ...] = ()
    is_star: bool = False
    is_distinct: bool = False


@dataclass(frozen=True, slots=True)
class Over(Node):
    """``call OVER (PARTITION BY ... ORDER BY ...)``; the keys of ORDER BY are ``OrderItem``.

    ``at_most`` is how many rows of a partition the query around it reads, if WHERE there says so.
    """

    call: FunctionCall
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[Node, ...] = ()
    at_most: int | None = None


Literals = (
    NullLiteral
    | BooleanLiteral
    | IntegerLiteral
    | DecimalLiteral
    | DoubleLiteral
    | StringLiteral
    | TypedLiteral
)
Predicate = Comparison | And | Or | Not | Between | In | InQuery | Exists | Like | IsNull
Constructor = CreateArray | CreateMap | CreateStruct
Expression = (
    Literals
    | Predicate
    | Constructor
    | IntervalLiteral
    | ColumnRef
    | Binary
    | Unary
    | AtTimeZone
    | Case
    | Cast
    | Dereference
    | Subscript
    | FunctionCall
    | Over
)
