"""Strategies for statements about streams and tables that are there, so that many are accepted."""

from typing import Any

from hypothesis import strategies as st

from penstock.sql.ast import expressions as x
from penstock.sql.ast import queries as q
from penstock.sql.ast import statements as ast
from penstock.sql.ast.types import ArrayOf, NamedType
from penstock.sql.functions.library import built_in_functions
from tests.properties.sql_strategies import literals

Some = st.SearchStrategy[Any]

_FUNCTIONS = built_in_functions()
_COLUMNS = ["K", "A", "B", "D", "C", "M", "P", "T", "E", "F", "ROWTIME"]
_AGGREGATES = ["COUNT", "SUM", "MIN", "MAX", "COLLECT_LIST", "TOPK", "LATEST_BY_OFFSET", "AVG"]
columns: Some = st.builds(x.ColumnRef, st.sampled_from(_COLUMNS)) | st.builds(
    x.ColumnRef, st.sampled_from(_COLUMNS), st.sampled_from(["S", "U", "T"])
)
leaves: Some = columns | literals
types: Some = st.builds(
    NamedType, st.sampled_from(["INT", "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "BYTES"])
) | st.builds(ArrayOf, st.builds(NamedType, st.just("INT")))


def _tuples(items: Some, least: int, most: int) -> Some:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def _calls(e: Some) -> Some:
    names = st.sampled_from(sorted(_FUNCTIONS.scalars))
    lambdas = st.builds(x.Lambda, st.sampled_from([("X",), ("X", "Y")]), e)
    return st.builds(x.FunctionCall, names, _tuples(e | lambdas, 0, 3))


def _compound(e: Some) -> Some:
    return (
        st.builds(x.Binary, st.sampled_from(["+", "-", "*", "/", "%", "||"]), e, e)
        | st.builds(x.Comparison, st.sampled_from(["=", "<>", "<", ">="]), e, e)
        | st.builds(x.And, e, e)
        | st.builds(x.Not, e)
        | st.builds(x.Between, e, e, e, st.booleans())
        | st.builds(x.In, e, _tuples(e, 1, 3), st.booleans())
        | st.builds(x.Like, e, e, st.none(), st.booleans())
        | st.builds(x.IsNull, e, st.booleans())
        | st.builds(x.Case, st.none(), _tuples(st.builds(x.When, e, e), 1, 2), st.none() | e)
        | st.builds(x.Cast, e, types)
        | st.builds(x.Dereference, e, st.sampled_from(["X", "Y"]))
        | st.builds(x.Subscript, e, e)
        | st.builds(x.CreateArray, _tuples(e, 0, 2))
        | _calls(e)
        | _calls(columns)
    )


scalars: Some = st.recursive(leaves, _compound, max_leaves=5)
_names = st.sampled_from(_AGGREGATES)
aggregates: Some = (
    st.builds(x.FunctionCall, _names, _tuples(scalars, 0, 2), is_distinct=st.booleans())
    | st.builds(x.FunctionCall, st.just("COUNT"), is_star=st.just(True))
    | st.builds(
        x.FunctionCall, st.sampled_from(sorted(_FUNCTIONS.aggregates)), _tuples(columns, 1, 2)
    )
)
_table_calls = st.builds(
    x.FunctionCall, st.sampled_from(sorted(_FUNCTIONS.tables)), _tuples(scalars, 1, 1)
)
_aliases: Some = st.none() | st.sampled_from(["V", "W", "K", "A"])
items: Some = st.builds(q.AllColumns) | st.builds(
    q.SelectColumn, scalars | aggregates | columns | _table_calls, _aliases
)
_span = st.builds(q.TimeSpan, st.integers(0, 100), st.sampled_from(["SECONDS", "DAYS"]))
_windows = (
    st.builds(q.TumblingWindow, _span, st.none() | _span, st.none() | _span)
    | st.builds(q.HoppingWindow, _span, _span)
    | st.builds(q.SessionWindow, _span)
)
_sources = st.builds(q.Source, st.sampled_from(["S", "U", "T"]), st.none())
_on = st.just(x.Comparison("=", x.ColumnRef("K", "S"), x.ColumnRef("K", "T"))) | scalars
_joins = st.builds(
    q.Join,
    st.sampled_from(["INNER", "LEFT", "FULL"]),
    st.just(q.Source("S")),
    st.sampled_from([q.Source("T"), q.Source("U")]),
    _on | st.builds(x.And, _on, scalars),
    st.none() | st.builds(q.Within, _span, _span),
)


def _queries(relations: Some, emits: Some) -> Some:
    return st.builds(
        q.Query,
        _tuples(items, 1, 3),
        relations,
        window=st.none() | _windows,
        where=st.none() | scalars,
        group_by=st.none() | _tuples(columns, 1, 2),
        partition_by=st.none() | _tuples(scalars, 1, 1),
        having=st.none() | scalars,
        emit=emits,
        order_by=st.just(()) | _tuples(st.builds(q.OrderItem, scalars, st.booleans()), 1, 2),
        limit=st.none() | st.integers(0, 3),
    )


inner: Some = _queries(_sources, st.none())
relations: Some = _sources | _joins | st.builds(q.Subquery, inner, st.just("X"))
queries: Some = _queries(relations, st.sampled_from([None, "CHANGES", "FINAL"]))
statements: Some = (
    queries
    | st.builds(ast.CreateAsSelect, st.sampled_from(["STREAM", "TABLE"]), st.just("O"), queries)
    | st.builds(ast.InsertInto, st.just("U"), queries)
    | st.builds(ast.InsertValues, st.sampled_from(["S", "U", "T"]), _tuples(scalars, 1, 3))
    | st.builds(ast.DeleteFrom, st.sampled_from(["S", "T"]), scalars)
    | st.builds(ast.Explain, queries)
)
