"""Over rows and over Arrow columns an expression gives the same values."""

import math
from decimal import Decimal
from typing import Any

import pytest
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
    Field,
    MapType,
    StructType,
)
from penstock.sql.arrow import to_array, to_values
from penstock.sql.ast import expressions as x
from penstock.sql.expressions import Column, Scope, compile_columns, compile_expression
from penstock.sql.functions.library import built_in_functions
from penstock.sql.syntax.parser import parse_expression
from tests.properties.sql_strategies import Some, compound, literals, tuples

small = st.integers(-3, 3)
COLUMNS = {
    "I": (INTEGER, st.sampled_from([java.MIN_INT, java.MAX_INT]) | small),
    "J": (INTEGER, small),
    "L": (BIGINT, st.sampled_from([java.MIN_LONG, java.MAX_LONG]) | small),
    "D": (DOUBLE, st.floats()),
    "N": (DecimalType(6, 2), st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-2))),
    "S": (STRING, st.text(max_size=3)),
    "B": (BOOLEAN, st.booleans()),
    "A": (ArrayType(INTEGER), st.lists(small | st.none(), max_size=3)),
    "M": (MapType(STRING, BIGINT), st.dictionaries(st.text(max_size=2), small)),
    "R": (StructType((Field("I", INTEGER),)), st.fixed_dictionaries({"I": st.none() | small})),
}
SCOPE = Scope(tuple(Column(n, t) for n, (t, _) in COLUMNS.items()), built_in_functions())
TYPES = [type_ for type_, _ in COLUMNS.values()]
rows = st.lists(st.tuples(*(st.none() | values for _, values in COLUMNS.values())), max_size=4)

columns: Some = st.sampled_from(sorted(COLUMNS)).map(x.ColumnRef)
texts: Some = st.sampled_from(
    ["R->I", "ABS(I)", "LEN(S)", "CONCAT(S, 'x', S)", "COALESCE(J, I)", "IFNULL(S, '')"]
).map(parse_expression)
calls: Some = st.sampled_from(["ABS", "LEN", "COALESCE", "IFNULL", "CONCAT", "UCASE"])


def deeper(inner: Some) -> Some:
    return compound(inner) | st.builds(x.FunctionCall, calls, tuples(inner))


expressions: Some = st.recursive(columns | literals | texts, deeper, max_leaves=5)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return bool(a == b) and (a is None) == (b is None)


def check(node: Any, table: list[tuple[Any, ...]]) -> bool:
    """Compares both paths; tells whether the column path used Arrow."""
    by_row = compile_expression(node, SCOPE)
    by_column = compile_columns(node, SCOPE)
    arrays = [to_array([row[i] for row in table], type_) for i, type_ in enumerate(TYPES)]
    result = by_column.evaluate(arrays, len(table))
    assert same(to_values(result, by_column.type), [by_row.evaluate(row) for row in table])
    return by_column.is_vectorised


@given(node=expressions, table=rows)
def test_columns_equal_rows(node: Any, table: list[tuple[Any, ...]]) -> None:
    """Whichever way an expression runs, its values are the same."""
    try:
        check(node, table)
    except SqlError:
        return


@pytest.mark.parametrize(
    "text",
    [
        "I + J * 2",
        "L - J",
        "D * J",
        "I > 1 AND S = 'a' OR B",
        "NOT B",
        "I BETWEEN J AND 3",
        "S NOT IN ('a', 'b')",
        "S IS NOT NULL",
        "CASE WHEN I > 0 THEN S WHEN B THEN 'b' ELSE 'c' END",
        "CASE WHEN B THEN I END",
        "R->I + 1",
        "CAST(L AS INT)",
        "CAST(I AS STRING)",
        "ABS(I)",
        "LEN(S)",
        "CONCAT(S, 'x')",
        "COALESCE(I, J, 0)",
        "1 + 1",
    ],
)
@given(table=rows)
def test_common_expressions_use_arrow(text: str, table: list[tuple[Any, ...]]) -> None:
    """These run without leaving Arrow, and still agree."""
    assert check(parse_expression(text), table)


def test_a_map_with_a_null_key_is_no_column() -> None:
    """Arrow has no such maps; whoever runs a query then goes on record by record."""
    nothing = [to_array([None], type_) for type_ in TYPES]
    with pytest.raises(SqlError, match="no-column-value"):
        compile_columns(parse_expression("MAP(A := A)"), SCOPE).evaluate(nothing, 1)
