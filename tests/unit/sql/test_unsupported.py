"""What other dialects have and this one has not gets an answer, not a list of words."""

import pytest

from penstock.sql import ParseError
from penstock.sql.syntax.lexer import SourceText, scan
from penstock.sql.syntax.parser import parse_statement
from penstock.sql.syntax.unsupported import unsupported_error


def error_of(sql: str) -> ParseError:
    with pytest.raises(ParseError) as refused:
        parse_statement(sql)
    return refused.value


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT a FROM s UNION SELECT a FROM t;", "UNION without ALL"),
        (
            "SELECT * FROM s JOIN t FOR SYSTEM_TIME BETWEEN a AND b ON s.a = t.a;",
            "FOR SYSTEM_TIME without AS OF",
        ),
        ("SELECT a FROM s UNION DISTINCT SELECT a FROM t;", "UNION without ALL"),
        (
            "SELECT LAG(a) OVER (PARTITION BY b ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM s;",
            "a frame in OVER",
        ),
        ("SELECT a FROM s WHERE a > ALL (SELECT b FROM t);", "ANY or ALL of a query"),
        ("SELECT a FROM s INTERSECT SELECT a FROM t;", "INTERSECT"),
        ("SELECT a FROM s EXCEPT SELECT a FROM t;", "EXCEPT"),
        ("SELECT a FROM s QUALIFY n = 1;", "QUALIFY"),
        ("SELECT a FROM s CROSS JOIN t;", "CROSS JOIN"),
        ("SELECT a FROM s NATURAL JOIN t;", "NATURAL JOIN"),
        ("SELECT a FROM s JOIN t USING (a);", "USING"),
        ("SELECT a FROM s FETCH FIRST 3 ROWS ONLY;", "FETCH"),
        ("SELECT DISTINCT ON (a) a FROM s;", "DISTINCT ON"),
        ("SELECT a FROM s WHERE a ILIKE 'x';", "ILIKE"),
        ("SELECT EXTRACT(YEAR FROM a) FROM s;", "EXTRACT ... FROM"),
        ("WITH RECURSIVE x AS (SELECT a FROM s) SELECT * FROM x;", "WITH RECURSIVE"),
        ("CREATE OR REPLACE VIEW v AS SELECT * FROM s;", "CREATE OR REPLACE VIEW"),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM s;", "CREATE MATERIALIZED VIEW"),
        ("CREATE INDEX i ON s (a);", "CREATE INDEX"),
        ("MERGE INTO s USING t ON s.a = t.a;", "MERGE"),
        ("UPDATE s SET a = 1;", "UPDATE"),
        ("GRANT SELECT ON s TO ann;", "GRANT"),
        ("USE shop;", "USE"),
        ("ALTER STREAM s DROP COLUMN a;", "ALTER STREAM ... DROP"),
    ],
)
def test_known_construct_is_named_with_a_way_round(sql: str, name: str) -> None:
    """The error names the construct and says what to write instead."""
    error = error_of(sql)
    assert (error.code, error.message) == ("not-supported", f"{name} is not supported")
    assert error.fix
    assert error.span is not None


def test_error_points_at_the_construct() -> None:
    """The caret stands below the word, also where the parser fails behind it."""
    error = error_of("SELECT a FROM s\n  INTERSECT SELECT a FROM t;")
    assert (error.line, error.column) == (2, 3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT union, offset FROM s WHERE;",
        "SELECT `INTERSECT` FROM s WHERE a = );",
        "INSERT INTO s VALUES (1, 'UNION SELECT') WHERE;",
    ],
)
def test_names_and_texts_are_no_constructs(sql: str) -> None:
    """A column that is called like a clause is not taken for it."""
    assert error_of(sql).code == "unexpected-token" or error_of(sql).code == "unexpected-end"


def test_select_without_from_is_told_so() -> None:
    """SELECT 1 reads from nowhere, which no stream or table can answer."""
    assert "FROM" in (error_of("SELECT 1;").fix or "")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO s VALUES (1), (2,);",
        "SELECT DISTINCT a FROM s WHERE a IN (1, 2) AND;",
        "SELECT a FROM s JOIN t ON s.a = t.a WHERE;",
    ],
)
def test_mistake_behind_what_is_supported_is_not_blamed_on_it(sql: str) -> None:
    """The parser got past the clause, so the clause is not the reason."""
    assert error_of(sql).code in ("unexpected-token", "unexpected-end")


def test_construct_of_known_words_is_unsupported_only_where_it_fails() -> None:
    """Once a clause is in the grammar, only a mistake inside it can be blamed on it."""
    lexemes = list(scan(SourceText("SELECT a FROM s LIMIT 1 INTERSECT SELECT 2")))
    assert unsupported_error(lexemes, 6) is not None
    assert unsupported_error(lexemes, 6, {"INTERSECT", "SELECT"}) is not None
    assert unsupported_error(lexemes, 8, {"INTERSECT", "SELECT"}) is None
