"""Strategies over the SQL grammar, for the property tests of the SQL layer."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.sql.ast import administration as admin
from penstock.sql.ast import expressions as x
from penstock.sql.ast import queries as q
from penstock.sql.ast import statements as ast
from penstock.sql.ast.types import ArrayOf, FieldType, MapOf, NamedType, StructOf
from penstock.sql.syntax.parser import keywords

Some = st.SearchStrategy[Any]

names: Some = (
    st.sampled_from(
        ["A", "b", "ROWTIME", "SELECT", "MAP", "1X", "with `tick`", "${v}", "$${v}", "é"]
    )
    | st.sampled_from(sorted(keywords()))
    | st.text(min_size=1, max_size=6)
)
strings: Some = st.text(max_size=8) | st.sampled_from(["it's", "${v}", "$${v}", "--", "/*", ";"])
whole: Some = st.integers(0, 2**31 - 1)
booleans = st.booleans()
maybe = st.none


def tuples(items: Some, least: int = 0) -> Some:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


types: Some = st.recursive(
    st.builds(NamedType, names) | st.builds(NamedType, names, tuples(whole, 1)),
    lambda inner: (
        st.builds(ArrayOf, inner)
        | st.builds(MapOf, inner, inner)
        | st.builds(StructOf, tuples(st.builds(FieldType, names, inner)))
    ),
    max_leaves=4,
)
decimals: Some = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(-scale),
    st.integers(-(10**9), 10**9),
    whole.filter(lambda n: n < 9),
)
literals: Some = (
    st.builds(x.NullLiteral)
    | st.builds(x.BooleanLiteral, booleans)
    | st.builds(x.IntegerLiteral, st.integers(-(2**63) + 1, 2**63 - 1))
    | st.builds(x.DecimalLiteral, decimals)
    | st.builds(x.DoubleLiteral, st.floats(allow_nan=False, allow_infinity=False))
    | st.builds(x.StringLiteral, strings)
)
leaves: Some = (
    literals
    | st.builds(x.TypedLiteral, names, strings)
    | st.builds(
        x.IntervalLiteral,
        st.integers(-(2**31) + 1, 2**31 - 1),
        st.sampled_from(["MILLISECONDS", "HOURS", "DAYS", "MONTHS", "YEARS"]),
    )
    | st.builds(x.ColumnRef, names, maybe() | names)
)


def compound(e: Some) -> Some:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "||"])
    comparators = st.sampled_from(
        ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
    )
    numbers = (x.IntegerLiteral, x.DecimalLiteral, x.DoubleLiteral)
    arguments = tuples(e | st.builds(x.Lambda, tuples(names, 1), e))
    return (
        st.builds(x.Binary, operators, e, e)
        # The parser folds a minus before a number, so such a tree has no text of its own.
        | st.builds(x.Unary, st.sampled_from("+-"), e.filter(lambda n: not isinstance(n, numbers)))
        | st.builds(x.Comparison, comparators, e, e)
        | st.builds(x.And, e, e)
        | st.builds(x.Or, e, e)
        | st.builds(x.Not, e)
        | st.builds(x.Between, e, e, e, booleans)
        | st.builds(x.In, e, tuples(e, 1), booleans)
        | st.builds(x.Like, e, e, maybe() | st.characters(), booleans)
        | st.builds(x.IsNull, e, booleans)
        | st.builds(x.AtTimeZone, e, strings)
        | st.builds(x.Case, maybe() | e, tuples(st.builds(x.When, e, e), 1), maybe() | e)
        | st.builds(x.Cast, e, types)
        | st.builds(x.Dereference, e, names)
        | st.builds(x.Subscript, e, e)
        | st.builds(x.CreateArray, tuples(e))
        | st.builds(x.CreateMap, tuples(st.builds(x.MapEntry, e, e)))
        | st.builds(x.CreateStruct, tuples(st.builds(x.StructField, names, e)))
        | st.builds(x.FunctionCall, names, arguments, is_distinct=booleans)
        | st.builds(x.FunctionCall, names, is_star=st.just(True))
        | st.builds(
            x.Over,
            st.builds(x.FunctionCall, names, arguments),
            tuples(e),
            tuples(st.builds(q.OrderItem, e, booleans, maybe() | booleans)),
        )
    )


expressions: Some = st.recursive(leaves, compound, max_leaves=8)
few: Some = leaves | compound(leaves)
spans: Some = st.builds(q.TimeSpan, whole, st.sampled_from(sorted(q.UNIT_MS)))
windows: Some = (
    st.builds(q.TumblingWindow, spans, maybe() | spans, maybe() | spans)
    | st.builds(q.HoppingWindow, spans, spans, maybe() | spans, maybe() | spans)
    | st.builds(q.SessionWindow, spans, maybe() | spans, maybe() | spans)
)
items: Some = (
    st.builds(q.AllColumns, maybe() | names)
    | st.builds(q.AllFields, few)
    | st.builds(q.SelectColumn, few, maybe() | names)
)


def query_over(source: Some, tables: Some) -> Some:
    kinds = st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL"])
    within = maybe() | st.builds(q.Within, spans, spans, maybe() | spans)
    parts = st.builds(q.Query, tuples(items, 1), source, where=maybe() | few, is_distinct=booleans)
    return st.builds(
        q.Query,
        tuples(items, 1),
        source | st.builds(q.Join, kinds, source, source, few, within),
        window=maybe() | windows,
        where=maybe() | few,
        group_by=maybe() | tuples(few),
        partition_by=maybe() | tuples(few),
        having=maybe() | few,
        order_by=tuples(st.builds(q.OrderItem, few, booleans, maybe() | booleans)),
        emit=st.sampled_from([None, "CHANGES", "FINAL"]),
        limit=maybe() | whole,
        offset=maybe() | whole,
        is_distinct=booleans,
        common_tables=tables,
        union_all=tuples(parts),
    )


_inner: Some = st.builds(q.Query, tuples(items, 1), st.builds(q.Source, names), where=maybe() | few)
with_queries: Some = st.builds(x.InQuery, few, _inner, booleans) | st.builds(x.Exists, _inner)


plain: Some = query_over(st.builds(q.Source, names, maybe() | names, booleans), st.just(()))
queries: Some = query_over(
    st.builds(q.Source, names, maybe() | names) | st.builds(q.Subquery, plain, maybe() | names),
    tuples(st.builds(q.CommonTable, names, plain)),
)
properties: Some = tuples(st.builds(ast.Property, names, literals))
columns: Some = tuples(
    st.builds(ast.Column, names, types, st.sampled_from([None, "KEY", "PRIMARY KEY", "HEADERS"]))
    | st.builds(ast.Column, names, types, st.just("HEADER"), strings)
)
kinds: Some = st.sampled_from(["STREAM", "TABLE"])
values: Some = tuples(few, 1)


def _insert_rows(name: str, rows: Any, names: Any) -> ast.InsertRows:
    return ast.InsertRows(tuple(ast.InsertValues(name, row, names) for row in rows))


definitions: Some = (
    st.builds(ast.CreateSource, kinds, names, columns, properties, booleans, booleans, booleans)
    | st.builds(ast.CreateAsSelect, kinds, names, plain, properties, booleans, booleans)
    | st.builds(ast.InsertInto, names, plain, properties)
    | st.builds(ast.InsertValues, names, values, tuples(names))
    | st.builds(_insert_rows, names, st.lists(values, min_size=2, max_size=3), tuples(names))
    | st.builds(ast.DeleteFrom, names, few)
    | st.builds(ast.DropSource, kinds, names, booleans, booleans)
    | st.builds(ast.AlterSource, kinds, names, tuples(st.builds(ast.NewColumn, names, types), 1))
    | st.builds(ast.CreateType, names, types, booleans)
    | st.builds(ast.DropType, names, booleans)
    | st.builds(ast.DropConnector, names, booleans)
    | st.builds(
        ast.CreateConnector, st.sampled_from(["SOURCE", "SINK"]), names, properties, booleans
    )
    | st.builds(ast.Explain, query_id=names)
    | st.builds(ast.Explain, plain)
    | st.builds(ast.AssertTopic, strings, properties, maybe() | whole, booleans)
    | st.builds(ast.AssertSchema, strings, maybe() | whole, maybe() | whole, booleans)
    | st.builds(ast.AssertValues, names, values, tuples(names))
    | st.builds(ast.AssertTombstone, names, values, tuples(names))
    | st.builds(ast.AssertSource, kinds, names, columns, properties)
)
administration: Some = (
    st.builds(admin.Show, st.sampled_from(["TOPICS", "ALL TOPICS", "SINK CONNECTORS"]), booleans)
    | st.builds(admin.DescribeSource, names, booleans)
    | st.builds(admin.DescribeAll, st.sampled_from(["STREAMS", "TABLES"]), booleans)
    | st.builds(admin.DescribeFunction, names)
    | st.builds(admin.DescribeConnector, names)
    | st.builds(admin.PrintTopic, strings, booleans, maybe() | whole, maybe() | whole)
    | st.builds(
        admin.ControlQuery, st.sampled_from(["TERMINATE", "PAUSE", "RESUME"]), maybe() | names
    )
    | st.builds(admin.SetProperty, strings, strings)
    | st.builds(admin.UnsetProperty, strings)
    | st.builds(admin.AlterSystem, strings, strings)
    | st.builds(admin.Define, names, strings)
    | st.builds(admin.Undefine, names)
    | st.builds(admin.RunScript, strings)
)
