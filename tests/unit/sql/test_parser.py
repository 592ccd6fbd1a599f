"""What the parser builds, statement by statement. Round trips: tests/properties/test_sql_format.

Exercises ``builders.queries``, ``builders.rules`` and ``builders.statements``.
"""

import pickle
from decimal import Decimal

import pytest

from penstock.model.sql.errors import ParseError
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.expressions import (
    Binary,
    Case,
    ColumnRef,
    Comparison,
    DecimalLiteral,
    DoubleLiteral,
    FunctionCall,
    IntegerLiteral,
    Lambda,
    Like,
    StringLiteral,
    TypedLiteral,
    Unary,
)
from penstock.sql.ast.queries import (
    AllColumns,
    AllFields,
    HoppingWindow,
    Join,
    Query,
    SelectColumn,
    Source,
    Subquery,
    TimeSpan,
    Within,
)
from penstock.sql.ast.types import ArrayOf, NamedType, StructOf
from penstock.sql.ast.walk import walk
from penstock.sql.syntax.parser import (
    parse,
    parse_expression,
    parse_statement,
    parse_type,
    split_statements,
)


def query(text: str) -> Query:
    statement = parse_statement(text)
    assert isinstance(statement, Query)
    return statement


def test_unquoted_names_are_upper_cased_and_quoted_ones_kept() -> None:
    """Names follow ksqlDB's case rules; a doubled quote stands for one."""
    assert parse_expression("userId") == ColumnRef("USERID")
    assert parse_expression("`userId`") == ColumnRef("userId")
    assert parse_expression('"a""b"') == ColumnRef('a"b')
    assert parse_expression("s.`x`") == ColumnRef("x", "S")
    assert parse_expression("1st") == ColumnRef("1ST")


def test_number_literals_keep_their_kind() -> None:
    """Digits give INT or BIGINT, a point DECIMAL, an exponent DOUBLE; a minus is folded in."""
    assert parse_expression("-5") == IntegerLiteral(-5)
    assert parse_expression("1.50") == DecimalLiteral(Decimal("1.50"))
    assert parse_expression("-1e3") == DoubleLiteral(-1000.0)
    assert parse_expression("- -1") == Unary("-", IntegerLiteral(-1))
    assert parse_expression("-9223372036854775808") == IntegerLiteral(-(2**63))
    with pytest.raises(ParseError, match="number-too-large"):
        parse_expression("9223372036854775808")
    with pytest.raises(ParseError, match="number-too-large"):
        parse_expression("1 - 9223372036854775808")
    with pytest.raises(ParseError, match="number-too-large"):
        parse_expression("-9223372036854775809")
    with pytest.raises(ParseError, match="number-too-large"):
        parse_expression("1e999")


def test_strings_double_their_quotes() -> None:
    """Two single quotes inside a string are one."""
    assert parse_expression("'it''s'") == StringLiteral("it's")
    assert parse_expression("DATE '2026-01-31'") == TypedLiteral("DATE", "2026-01-31")


def test_operators_bind_as_in_ksqldb() -> None:
    """Products bind before sums, sums before ||, comparisons before NOT, AND before OR."""
    assert parse_expression("a + b * c") == parse_expression("a + (b * c)")
    assert parse_expression("a || b + c") == parse_expression("a || (b + c)")
    assert parse_expression("a - b - c") == parse_expression("(a - b) - c")
    assert parse_expression("NOT a > 1 AND b OR c") == parse_expression(
        "((NOT (a > 1)) AND b) OR c"
    )
    assert parse_expression("a != b") == Comparison("<>", ColumnRef("A"), ColumnRef("B"))


def test_predicates_take_not_and_escape() -> None:
    """NOT stands inside the predicate and ESCAPE behind the pattern."""
    like = parse_expression("a NOT LIKE 'x!%' ESCAPE '!'")
    assert like == Like(ColumnRef("A"), StringLiteral("x!%"), "!", negated=True)
    with pytest.raises(ParseError, match="bad-escape"):
        parse_expression("a LIKE 'x' ESCAPE 'ab'")
    assert parse_expression("a IS NOT DISTINCT FROM 1") == Comparison(
        "IS NOT DISTINCT FROM", ColumnRef("A"), IntegerLiteral(1)
    )


def test_lambdas_are_function_arguments() -> None:
    """Brackets before an arrow are parameters, other brackets only group."""
    call = parse_expression("reduce(xs, 0, (s, x) => s + x)")
    body = Binary("+", ColumnRef("S"), ColumnRef("X"))
    assert isinstance(call, FunctionCall)
    assert call.arguments[2] == Lambda(("S", "X"), body)
    assert parse_expression("transform(xs, (x) => x)") == parse_expression("transform(xs, x => x)")
    assert parse_expression("f((x))") == parse_expression("f(x)")


def test_both_forms_of_case() -> None:
    """A CASE may compare an operand or search conditions."""
    searched = parse_expression("CASE WHEN a THEN 1 END")
    simple = parse_expression("CASE a WHEN 1 THEN 2 ELSE 3 END")
    assert isinstance(searched, Case)
    assert isinstance(simple, Case)
    assert (searched.operand, searched.default) == (None, None)
    assert (simple.operand, simple.default) == (ColumnRef("A"), IntegerLiteral(3))


def test_types_nest() -> None:
    """Angle brackets close one by one, so nested types need no blanks."""
    assert parse_type("ARRAY<ARRAY<INT>>") == ArrayOf(ArrayOf(NamedType("INT")))
    assert parse_type("DECIMAL(4, 2)") == NamedType("DECIMAL", (4, 2))
    assert parse_type("STRUCT<>") == StructOf(())


def test_create_stream_with_columns_and_properties() -> None:
    """Constraints, headers and properties of CREATE."""
    statement = parse_statement(
        "CREATE OR REPLACE STREAM s (k INT KEY, h BYTES HEADER('x'), v STRING)"
        " WITH (kafka_topic = 't', 'Other' = -1)"
    )
    assert isinstance(statement, ast.CreateSource)
    assert [c.constraint for c in statement.columns] == ["KEY", "HEADER", None]
    assert statement.columns[1].header == "x"
    assert [p.name for p in statement.properties] == ["KAFKA_TOPIC", "Other"]
    assert statement.properties[1].value == IntegerLiteral(-1)
    assert statement.or_replace


def test_create_as_select_refuses_columns_and_source() -> None:
    """The query gives the columns, and a SOURCE is read-only."""
    with pytest.raises(ParseError, match="columns-and-query"):
        parse_statement("CREATE STREAM s (a INT) AS SELECT * FROM t")
    with pytest.raises(ParseError, match="source-and-query"):
        parse_statement("CREATE SOURCE TABLE s AS SELECT * FROM t")


def test_query_with_every_clause() -> None:
    """Each clause lands in its own field."""
    found = query(
        "SELECT s.*, t->*, a x FROM s WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES,"
        " RETENTION 1 DAY, GRACE PERIOD 1 SECOND) WHERE a > 1 GROUP BY (a, b) HAVING b"
        " ORDER BY a DESC NULLS FIRST EMIT FINAL LIMIT 3"
    )
    assert found.items == (
        AllColumns("S"),
        AllFields(ColumnRef("T")),
        SelectColumn(ColumnRef("A"), "X"),
    )
    assert isinstance(found.window, HoppingWindow)
    assert found.window.advance.ms == 300_000
    assert found.group_by == (ColumnRef("A"), ColumnRef("B"))
    assert (found.emit, found.limit, found.order_by[0].is_descending) == ("FINAL", 3, True)


def test_joins_nest_to_the_left() -> None:
    """The second join's left side is the first join."""
    found = query(
        "SELECT * FROM a JOIN b WITHIN (1 HOUR, 2 HOURS) ON a.x = b.x LEFT OUTER JOIN c ON 1"
    )
    assert isinstance(found.source, Join)
    assert found.source.kind == "LEFT"
    assert isinstance(found.source.left, Join)
    assert found.source.left.within == Within(TimeSpan(1, "HOURS"), TimeSpan(2, "HOURS"))


def test_common_tables_and_subqueries() -> None:
    """Beyond ksqlDB: WITH, and a query in FROM."""
    found = query("WITH a AS (SELECT * FROM b) SELECT x FROM (SELECT * FROM a) AS z")
    assert found.common_tables[0].name == "A"
    assert isinstance(found.source, Subquery)
    assert found.source.query.source == Source("A")


def test_soft_keywords_are_names_where_only_a_name_fits() -> None:
    """Most keywords may name columns, sources and aliases."""
    found = query("SELECT key, array array, source.topic FROM emit emit EMIT CHANGES")
    assert found.items[1] == SelectColumn(ColumnRef("ARRAY"), "ARRAY")
    assert found.source == Source("EMIT", "EMIT")
    assert found.emit == "CHANGES"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("LIST ALL TOPICS EXTENDED", admin.Show("ALL TOPICS", True)),
        ("SHOW CONNECTOR PLUGINS", admin.Show("CONNECTOR PLUGINS")),
        ("DESCRIBE s EXTENDED", admin.DescribeSource("S", True)),
        ("DESCRIBE FUNCTION f", admin.DescribeFunction("F")),
        ("DESCRIBE STREAMS", admin.DescribeAll("STREAMS")),
        ("TERMINATE ALL", admin.ControlQuery("TERMINATE")),
        ("PAUSE q_1", admin.ControlQuery("PAUSE", "Q_1")),
        ("SET 'a' = 'b'", admin.SetProperty("a", "b")),
        ("UNDEFINE x", admin.Undefine("X")),
        ("PRINT 'a-b' FROM BEGINNING LIMIT 2", admin.PrintTopic("a-b", True, None, 2)),
        ("RUN SCRIPT './a.sql'", admin.RunScript("./a.sql")),
        ("DROP TABLE IF EXISTS t DELETE TOPIC", ast.DropSource("TABLE", "T", True, True)),
        ("EXPLAIN q_1", ast.Explain(query_id="Q_1")),
        ("ASSERT NOT EXISTS TOPIC t TIMEOUT 2 SECONDS", ast.AssertTopic("t", (), 2000, False)),
        ("ASSERT SCHEMA SUBJECT 's' ID 3", ast.AssertSchema("s", 3)),
        ("CREATE TYPE a AS INT", ast.CreateType("A", NamedType("INT"))),
        ("DELETE FROM t WHERE 1", ast.DeleteFrom("T", IntegerLiteral(1))),
        ("INSERT INTO t (a) VALUES (1)", ast.InsertValues("T", (IntegerLiteral(1),), ("A",))),
        (
            "INSERT INTO t VALUES (1), (2)",
            ast.InsertRows(
                (
                    ast.InsertValues("T", (IntegerLiteral(1),)),
                    ast.InsertValues("T", (IntegerLiteral(2),)),
                )
            ),
        ),
        (
            "ALTER STREAM s ADD COLUMN a INT",
            ast.AlterSource("STREAM", "S", (ast.NewColumn("A", NamedType("INT")),)),
        ),
    ],
)
def test_other_statements(text: str, statement: ast.Statement) -> None:
    """One line per statement."""
    assert parse_statement(text + ";") == statement


def test_errors_point_at_the_text_and_suggest() -> None:
    """An error has line, column, caret line and the nearest keyword."""
    with pytest.raises(ParseError) as caught:
        parse("SHOW STREAMS;\nSHOW TABELS;")
    error = caught.value
    assert (error.code, error.line, error.column) == ("unexpected-token", 2, 6)
    assert str(error).splitlines()[-1] == "  fix: did you mean 'TABLES'?"
    assert "       SHOW TABELS;\n            ^^^^^^" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CRAETE STREAM s;", "unknown-statement"),
        ("SELECT a FROM", "unexpected-end"),
        ("SELECT 'a", "unclosed-text"),
        ("SELECT a /* b", "unclosed-text"),
        ("SELECT # FROM b", "bad-character"),
        ("SELECT ${x} FROM b", "undefined-variable"),
        ("DEFINE 9a = 'x'", "bad-variable-name"),
        ("DEFINE `a b` = 'x'", "bad-variable-name"),
        ("DEFINE é = 'x'", "bad-variable-name"),
        ("SELECT " + "(" * 200 + "1" + ")" * 200 + " FROM b", "nested-too-deeply"),
        ("SELECT " + "- " * 20000 + "1 FROM b", "nested-too-deeply"),
        ("", "not-one-statement"),
        ("EXPLAIN CREATE STREAM s (a INT)", "explain-without-query"),
        ("ASSERT SCHEMA", "assert-without-schema"),
    ],
)
def test_wrong_text_has_an_error_of_its_own(text: str, code: str) -> None:
    """No text leads to any other error than a ParseError."""
    with pytest.raises(ParseError) as caught:
        parse_statement(text)
    assert caught.value.code == code


def test_reserved_word_as_name_is_explained() -> None:
    """A reserved word can be a name between backquotes only."""
    with pytest.raises(ParseError, match="`TABLE`"):
        parse_statement("CREATE STREAM table (a INT)")


def test_variables_are_replaced_in_names_and_strings() -> None:
    """A variable is one name or literal, and never adds tokens of its own."""
    variables = {"T": "clicks", "N": "5", "E": "dev", "BAD": "a; DROP STREAM b"}
    text = "SELECT ${n}, '${e}-$${e}', '${bad}' FROM ${t}"
    found = parse_statement(text, variables)
    assert found == parse_statement("SELECT 5, 'dev-$${e}', 'a; DROP STREAM b' FROM clicks")
    assert parse_expression("${e}_x", variables) == ColumnRef("DEV_X")
    assert parse_expression("${a@b}", {"A@B": "c"}) == ColumnRef("C")
    with pytest.raises(ParseError, match="bad-variable-value"):
        parse_statement("SELECT ${bad} FROM b", variables)


def test_scripts_are_cut_at_semicolons_outside_quotes() -> None:
    """Semicolons in strings and comments cut nothing; empty statements vanish."""
    script = "SET 'a;' = ';'; -- one; two\n;; /* ; */ SHOW ${what};SHOW TABLES"
    pieces = split_statements(script)
    assert [p.text for p in pieces] == ["SET 'a;' = ';'", "SHOW ${what}", "SHOW TABLES"]
    assert (pieces[1].span.line, pieces[1].span.column) == (2, 12)


def test_topics_keep_their_case_without_quotes() -> None:
    """Kafka tells Orders from ORDERS, so PRINT and ASSERT TOPIC take a name as it is written."""
    printed = parse_statement("PRINT myTopic FROM BEGINNING;")
    assert isinstance(printed, admin.PrintTopic)
    assert printed.topic == "myTopic"
    asserted = parse_statement("ASSERT TOPIC ${t};", {"T": "ordersOfToday"})
    assert isinstance(asserted, ast.AssertTopic)
    assert asserted.name == "ordersOfToday"


@pytest.mark.parametrize("word", ["OR", "AND"])
def test_long_chain_is_no_deep_tree(word: str) -> None:
    """Programs write conditions with thousands of parts; no walk over them exhausts the stack."""
    text = f" {word} ".join(f"a = {n}" for n in range(2000))
    node = parse_expression(text)
    parts = [part for part in walk(node) if isinstance(part, Comparison)]
    assert [part.right for part in parts] == [IntegerLiteral(n) for n in range(2000)]
    assert pickle.loads(pickle.dumps(node)) == node
    assert node.span is not None
    assert (node.span.start, node.span.end) == (0, len(text))


def test_what_may_follow_is_always_named() -> None:
    """Where a statement must end, the error says so."""
    with pytest.raises(ParseError) as refused:
        parse_statement("SELECT * FROM s LIMIT 1 OFFSET 1 1")
    assert refused.value.message == "unexpected '1'; expected AS OF CUT or the end of the statement"
