"""Every evaluator of expressions computes the same: by record, over columns, and of constants.

SQL and the DSL have expressions of their own, with a reference each: the function of one row, and
the call of the expression. All other ways to a value are compared with it here, such as
``expressions.columns``.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import col, key, lit, struct, value, when
from penstock.expr import expression as dsl
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.evaluate import evaluated
from penstock.model import java
from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.errors import AnalysisError, SqlError
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
from penstock.model.user_code import UserCodeError
from penstock.sql.arrow import to_array, to_values
from penstock.sql.ast import expressions as x
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import (
    Column,
    Scope,
    compile_columns,
    compile_condition,
    compile_expression,
)
from penstock.sql.expressions.over_rows import array_over_rows, mask_over_rows, values_over_rows
from penstock.sql.functions.library import built_in_functions
from penstock.sql.statements.insert_values import value_of
from penstock.sql.syntax.parser import parse_expression
from tests.properties.runs import SOME
from tests.properties.sql_strategies import Some, compound, literals, tuples

# SQL

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
TYPES = [type_ for type_, _ in COLUMNS.values()]
FUNCTIONS = built_in_functions()
tables = st.lists(st.tuples(*(st.none() | values for _, values in COLUMNS.values())), max_size=4)

columns: Some = st.sampled_from(sorted(COLUMNS)).map(x.ColumnRef)
# Functions that Arrow computes, and some of the others.
calls: Some = st.sampled_from(
    ["ABS", "LEN", "COALESCE", "IFNULL", "CONCAT", "SPLIT", "UCASE", "ROUND", "ARRAY_LENGTH"]
)


def deeper(inner: Some) -> Some:
    return compound(inner) | st.builds(x.FunctionCall, calls, tuples(inner))


expressions: Some = st.recursive(columns | literals, deeper, max_leaves=5)
constants: Some = st.recursive(literals, deeper, max_leaves=5)


def scope_of(log: Callable[[str, Exception, Any], None] = lambda _, __, ___: None) -> Scope:
    return Scope(tuple(Column(n, t) for n, (t, _) in COLUMNS.items()), FUNCTIONS, log=log)


def as_columns(table: list[tuple[Any, ...]]) -> RowColumns:
    return RowColumns([[row[i] for row in table] for i in range(len(TYPES))], len(table))


def same(a: Any, b: Any) -> bool:
    """Equal, of the same class, and NaN equals NaN."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return bool(a == b) and type(a) is type(b)


def check_sql(node: x.Expression, table: list[tuple[Any, ...]]) -> bool:
    """Compare all ways over columns with the rows; tell whether Arrow has one."""
    failed: list[str] = []
    compiled = compile_expression(node, scope_of(lambda text, _, __: failed.append(text)))
    wanted = [compiled.evaluate(row) for row in table]
    scope, rows = scope_of(), as_columns(table)
    assert same(list(values_over_rows(node, scope)(rows)), wanted)
    if compiled.type == BOOLEAN:
        holds = compile_condition(node, scope).evaluate
        assert mask_over_rows(node, scope)(rows).tolist() == [holds(row) for row in table]
    array = array_over_rows(node, scope)
    if array is not None:
        assert array.type == compiled.type
        assert same(to_values(array.evaluate(rows), array.type), wanted)
    kernels = compile_columns(node, scope)
    if kernels is not None and not failed:
        arrays = [to_array(list(rows.column(i)), type_) for i, type_ in enumerate(TYPES)]
        try:
            found = kernels.evaluate(arrays, len(table))
        except ValueError:
            # A kernel may refuse a batch. It may not give something else.
            return True
        assert kernels.type == compiled.type
        assert same(to_values(found, kernels.type), wanted)
    return kernels is not None


@given(node=expressions, table=tables)
def test_sql_over_columns_equals_row_by_row(node: Any, table: list[tuple[Any, ...]]) -> None:
    """Values, conditions and arrays, NULL and failing rows included."""
    try:
        check_sql(node, table)
    except SqlError:
        return


@pytest.mark.parametrize(
    "text",
    [
        "I + J * 2", "L - J", "D * J", "I > 1 AND S = 'a' OR B", "NOT B", "I BETWEEN J AND 3",
        "I NOT BETWEEN J AND L", "S NOT IN ('a', 'b')", "S IS NOT NULL", "S IS NULL OR NOT B",
        "CASE WHEN I > 0 THEN S WHEN B THEN 'b' ELSE 'c' END", "CASE WHEN B THEN I END",
        "R->I + 1", "CAST(L AS INT)", "CAST(I AS STRING)", "CAST(B AS STRING)", "CAST(L AS DOUBLE)",
        "ABS(I)", "ABS(D)", "LEN(S)", "CONCAT(S, 'x')", "COALESCE(I, J, 0)", "IFNULL(S, '-')",
        "SPLIT(S, 'a')", "1 + 1", "D = D", "I <> J", "L >= I",
    ],
)  # fmt: skip
@SOME
@given(table=tables)
def test_what_arrow_computes_equals_row_by_row(text: str, table: list[tuple[Any, ...]]) -> None:
    """These have kernels; a change that loses one of them shows here."""
    assert check_sql(parse_expression(text), table)


@given(node=constants)
def test_values_of_an_insert_equal_the_expression_of_a_query(node: Any) -> None:
    """INSERT ... VALUES refuses what a query would make NULL, and computes all else alike."""
    failed: list[str] = []
    scope = Scope((), FUNCTIONS, log=lambda text, _, __: failed.append(text))
    try:
        compiled = compile_expression(node, scope)
    except SqlError:
        return
    if compiled.type is None or any(isinstance(each, x.Lambda) for each in walk(node)):
        return
    wanted = compiled.evaluate(())
    try:
        found = value_of(node, SourceColumn("C", compiled.type), scope)
    except AnalysisError:
        assert failed
        return
    assert same(found, wanted)


# The DSL

numbers = st.integers(-3, 3) | st.sampled_from([0.0, 0.5, -0.0]) | st.booleans()
texts = st.sampled_from(["", "a", " B ", "a,b", "7"])
anything = st.none() | numbers | texts | st.lists(numbers, max_size=2)
objects = st.none() | st.fixed_dictionaries(
    {}, optional={"n": anything, "s": anything, "o": anything}
)
records = st.lists(st.tuples(anything, objects), max_size=4)

leaves: Some = (
    st.sampled_from(["n", "s", "o", "missing"]).map(col)
    | st.just(key)
    | st.just(value)
    | anything.map(lit)
)
SIGNS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=")


def nested(e: Some) -> Some:
    return (
        st.builds(dsl.Binary, st.sampled_from(SIGNS), e, e)
        | st.builds(dsl.Logical, st.sampled_from(["and", "or"]), e, e)
        | st.builds(dsl.Not, e)
        | st.builds(dsl.IsNull, e)
        | st.builds(lambda of, choices: of.is_in(choices), e, st.lists(numbers | texts, max_size=3))
        | st.builds(dsl.FillNull, e, e)
        | st.builds(dsl.Text, st.sampled_from(["lower", "upper", "strip"]), e)
        | st.builds(dsl.Length, e)
        | st.builds(dsl.Split, e, st.sampled_from([None, ","]))
        | st.builds(dsl.Cast, e, st.sampled_from(dsl.CASTS))
        | st.builds(lambda c, yes, no: when(c).then(yes).otherwise(no), e, e, e)
        | st.builds(lambda a, b: struct(a=a, b=b), e, e)
        | st.builds(lambda a: value.with_fields(n=a, new=a), e)
        | st.builds(dsl.Field, e, st.sampled_from(["n", 0, -1]))
    )


programs: Some = st.recursive(leaves, nested, max_leaves=6)


@given(expression=programs, batch=records)
def test_dsl_over_columns_equals_record_by_record(
    expression: dsl.Expression, batch: list[tuple[Any, Any]]
) -> None:
    """Where a record fails, so does its batch, which then runs record by record."""
    try:
        wanted = [expression(one, other) for one, other in batch]
    except Exception:  # noqa: BLE001 - user code may raise anything
        with pytest.raises(UserCodeError):
            over_columns(expression, batch)
        return
    try:
        found = over_columns(expression, batch)
    except UserCodeError:
        # Operands are evaluated for all records, also where the record path would not ask.
        return
    assert same(list(found), wanted)


def over_columns(expression: dsl.Expression, batch: list[tuple[Any, Any]]) -> Any:
    keys, values = [one for one, _ in batch], [other for _, other in batch]
    return evaluated(expression, BatchColumn(keys), BatchColumn(values))


# Why the two languages keep evaluators of their own


@pytest.mark.parametrize(
    ("text", "expression", "row", "in_sql", "in_dsl"),
    [
        ("I = J", col("I") == col("J"), {"I": None, "J": 1}, False, None),
        ("I + J", col("I") + col("J"), {"I": 2**31 - 1, "J": 1}, -(2**31), 2**31),
        ("I / J", col("I") / col("J"), {"I": -7, "J": 2}, -3, -3.5),
        ("I % J", col("I") % col("J"), {"I": -7, "J": 2}, -1, 1),
    ],
)
def test_sql_and_dsl_mean_different_things(
    text: str, expression: Any, row: dict[str, Any], in_sql: Any, in_dsl: Any
) -> None:
    """SQL has ksqlDB's and Java's rules, the DSL has Python's."""
    names = [*COLUMNS]
    table = tuple(row.get(name) for name in names)
    assert same(compile_expression(parse_expression(text), scope_of()).evaluate(table), in_sql)
    assert same(expression(None, row), in_dsl)
