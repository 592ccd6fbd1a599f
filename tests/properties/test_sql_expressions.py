"""Expressions that compile give values of their type; those that do not are refused by us."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.model import java
from penstock.model.sql.errors import SqlError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.ast import expressions as x
from penstock.sql.casting import caster
from penstock.sql.expressions import Column, Scope, compile_expression
from penstock.sql.functions.library import built_in_functions
from penstock.sql.syntax.format import format_expression
from penstock.sql.syntax.parser import parse_expression
from tests.properties.sql_strategies import Some, compound, literals, tuples

FUNCTIONS = built_in_functions()
COLUMNS = {
    "I": (INTEGER, st.integers(java.MIN_INT, java.MAX_INT)),
    "L": (BIGINT, st.integers(java.MIN_LONG, java.MAX_LONG)),
    "D": (DOUBLE, st.floats()),
    "N": (DecimalType(6, 2), st.integers(-999_999, 999_999).map(lambda n: Decimal(n).scaleb(-2))),
    "S": (STRING, st.text(max_size=5)),
    "B": (BOOLEAN, st.booleans()),
    "A": (ArrayType(INTEGER), st.lists(st.integers(-5, 5) | st.none(), max_size=4)),
    "M": (MapType(STRING, BIGINT), st.dictionaries(st.text(max_size=2), st.integers(-5, 5))),
}
SCOPE = Scope(tuple(Column(n, t, "T") for n, (t, _) in COLUMNS.items()), FUNCTIONS)
rows = st.tuples(*(st.none() | values for _, values in COLUMNS.values()))

columns: Some = st.sampled_from(sorted(COLUMNS)).map(x.ColumnRef)
calls: Some = st.sampled_from(sorted(FUNCTIONS.scalars))


def deeper(inner: Some) -> Some:
    return compound(inner) | st.builds(x.FunctionCall, calls, tuples(inner))


expressions: Some = st.recursive(columns | literals, deeper, max_leaves=6)


def has_type(value: Any, type_: SqlType) -> bool:
    """Tells whether a Python value is what a SQL type stands for."""
    match type_:
        case DecimalType(_, scale):
            return isinstance(value, Decimal) and -value.as_tuple().exponent == scale
        case ArrayType(element):
            return isinstance(value, list) and all(v is None or has_type(v, element) for v in value)
        case MapType(_, inner):
            return isinstance(value, dict) and all(
                v is None or has_type(v, inner) for v in value.values()
            )
        case StructType(fields):
            return isinstance(value, dict) and list(value) == [f.name for f in fields]
    kinds: dict[str, type] = {"BOOLEAN": bool, "DOUBLE": float, "STRING": str, "BYTES": bytes}
    wanted = kinds.get(str(type_), int)
    return isinstance(value, wanted) and (wanted is not int or not isinstance(value, bool))


@given(node=expressions, row=rows)
def test_expressions_give_their_type_or_are_refused(node: Any, row: tuple[Any, ...]) -> None:
    """A checked expression never raises, and its value is NULL or of its type."""
    text = format_expression(node)
    try:
        compiled = compile_expression(parse_expression(text), SCOPE)
    except SqlError:
        return
    value = compiled.evaluate(row)
    if value is not None:
        assert compiled.type is not None
        assert has_type(value, compiled.type), (text, value, str(compiled.type))


@given(name=calls, arguments=st.lists(columns, max_size=4), row=rows)
def test_functions_give_their_type(name: str, arguments: list[Any], row: tuple[Any, ...]) -> None:
    """Each function's result has the type that its signature says."""
    try:
        compiled = compile_expression(x.FunctionCall(name, tuple(arguments)), SCOPE)
    except SqlError:
        return
    value = compiled.evaluate(row)
    assert value is None or (compiled.type is not None and has_type(value, compiled.type))


@given(a=st.integers(java.MIN_LONG, java.MAX_LONG), b=st.integers(java.MIN_LONG, java.MAX_LONG))
def test_whole_numbers_stay_within_64_bits(a: int, b: int) -> None:
    """Arithmetic on BIGINT wraps around, whatever the operands are."""
    scope = Scope((Column("A", BIGINT), Column("B", BIGINT)), FUNCTIONS)
    for operator in "+-*/%":
        value = compile_expression(parse_expression(f"A {operator} B"), scope).evaluate((a, b))
        assert value is None or java.MIN_LONG <= value <= java.MAX_LONG
    if b:
        quotient, rest = java.divide(a, b), java.remainder(a, b)
        assert quotient * b + rest == a


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back_from_their_text(value: float) -> None:
    """CAST to STRING and back is the same DOUBLE."""
    assert caster(STRING, DOUBLE)(caster(DOUBLE, STRING)(value)) == value
