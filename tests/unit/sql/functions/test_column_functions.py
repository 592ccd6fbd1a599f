"""Functions over Arrow arrays: rows and columns give the same, results are checked.

Exercises ``expressions.kernels``.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.errors import AnalysisError, FunctionError
from penstock.sql import SqlEngine, UserFunction, udf
from penstock.sql.expressions import Column, Scope, compile_columns, compile_expression, kernels
from penstock.sql.expressions.over_rows import values_over_rows
from penstock.sql.functions.column_functions import user_type
from penstock.sql.functions.library import built_in_functions
from penstock.sql.syntax.parser import parse_expression
from tests.unit.sql.kit import sql_type


def both_ways(function: UserFunction, text: str, type_: str, values: list[Any]) -> list[Any]:
    """The values of an expression over column A; rows and columns must agree."""
    registry = built_in_functions()
    function.register(registry)
    column = sql_type(type_)
    scope = Scope((Column("A", column),), registry)
    node = parse_expression(text)
    one_by_one = [compile_expression(node, scope).evaluate([value]) for value in values]
    assert compile_columns(node, scope) is not None
    over_rows = values_over_rows(node, scope)
    assert [*over_rows(RowColumns([values], len(values)))] == one_by_one
    return one_by_one


def test_hints_of_arrow_give_the_types() -> None:
    """Int64Array is BIGINT and so on; NULLs are the function's own affair."""

    @udf(columns=True)
    def or_seven(values: pa.Int64Array) -> pa.Int64Array:
        return pc.fill_null(values, 7)

    assert both_ways(or_seven, "OR_SEVEN(A)", "INT", [1, None]) == [1, 7]


def test_dates_are_arrows() -> None:
    """DATE and TIMESTAMP reach the function as date32 and timestamp, and come back as those."""

    @udf(columns=True)
    def year_of(days: pa.Date32Array) -> pa.Int64Array:
        return pc.year(days)

    @udf(signature="TIMESTAMP -> DATE", columns=True)
    def day(moments: Any) -> Any:
        assert moments.type == pa.timestamp("ms", "UTC")
        return moments.cast(pa.date32())

    assert both_ways(year_of, "YEAR_OF(A)", "DATE", [0, 400, None]) == [1970, 1971, None]
    assert both_ways(day, "DAY(A)", "TIMESTAMP", [86_400_000, None]) == [1, None]


def test_text_that_stands_for_a_date_is_read_the_same_way() -> None:
    """Arrow reads texts of its own kind; the conversion is SQL's on both ways."""

    @udf(columns=True)
    def year_of(days: pa.Date32Array) -> pa.Int64Array:
        return pc.year(days)

    assert both_ways(year_of, "YEAR_OF(A)", "STRING", ["1971-02", "1972-01-01", None]) == [
        1971,
        1972,
        None,
    ]


def test_numbers_are_narrowed_only_if_they_fit() -> None:
    """An int64 is an INTEGER while it is small enough; a number that is not is NULL."""

    @udf(signature="BIGINT -> INTEGER", columns=True)
    def same(values: Any) -> Any:
        return values

    assert both_ways(same, "SAME(A)", "BIGINT", [1, 2**40, None]) == [1, None, None]


@pytest.mark.parametrize(
    "result", [5, [1], pa.array([1, 2, 3]), pa.array(["a"]), pa.array([1.5]), pa.scalar(1)]
)
def test_a_result_of_another_shape_or_type_is_refused(result: Any) -> None:
    """A value, another length or another type is NULL for the call, and logged with the line."""

    @udf(signature="BIGINT -> BIGINT", columns=True)
    def wrong(values: Any) -> Any:
        return result

    registry = built_in_functions()
    wrong.register(registry)
    errors: list[Exception] = []
    scope = Scope((), registry, log=lambda _, error, __: errors.append(error))
    assert compile_expression(parse_expression("WRONG(1)"), scope).evaluate(()) is None
    assert isinstance(errors[0], FunctionError)
    assert errors[0].code == "wrong-result"


def test_a_function_of_no_columns_is_refused() -> None:
    """Nothing would say how many rows it has."""
    with pytest.raises(AnalysisError, match="no-columns"):
        udf(signature="-> INT", columns=True)(lambda: pa.array([1]))


def test_types_reach_users_with_arrows_dates_inside() -> None:
    """Arrays, maps and structs have them, too."""
    found = user_type(sql_type("STRUCT<a ARRAY<DATE>, b MAP<STRING, TIME>>"))
    assert found == pa.struct(
        {"A": pa.list_(pa.date32()), "B": pa.map_(pa.string(), pa.time32("ms"))}
    )


@pytest.mark.parametrize("over_columns", [False, True])
def test_queries_call_them_on_both_engines(over_columns: bool) -> None:
    """Records go as arrays of one row, batches as they are; the results are the same."""

    @udf(columns=True)
    def shout(texts: pa.StringArray) -> pa.StringArray:
        return pc.utf8_upper(texts)

    engine = SqlEngine(functions=(shout,))
    engine.execute("""
        CREATE STREAM s (k VARCHAR KEY, t VARCHAR)
            WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE STREAM o AS SELECT k, SHOUT(t) AS t FROM s WHERE SHOUT(t) <> 'B';
    """)
    with engine.local(over_columns=over_columns) as queries:
        for text in ("a", "b", "c"):
            queries.pipe("s", b"k", b'{"t": "%s"}' % text.encode())
        assert [r.value for r in queries.produced] == [b'{"T":"A"}', b'{"T":"C"}']


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [(pa.ArrowInvalid("bad"), False), (OverflowError("bad"), False), (KeyError("fault"), True)],
)
def test_only_bad_values_leave_a_kernel_for_the_rows(
    error: Exception, is_fault: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of a kernel would make every batch slow, and nobody would know."""

    def failing(left: Any, right: Any) -> Any:
        raise error

    monkeypatch.setitem(kernels.NUMERIC_KERNELS, "+", failing)
    scope = Scope((Column("A", sql_type("BIGINT")),), built_in_functions())
    over_rows = values_over_rows(parse_expression("A + 1"), scope)
    rows = RowColumns([[1, 2]], 2)
    if is_fault:
        with pytest.raises(KeyError):
            over_rows(rows)
    else:
        assert [*over_rows(rows)] == [2, 3]
