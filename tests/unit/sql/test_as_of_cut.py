"""``AS OF CUT n``: what it means in a statement, and where it cannot stand.

Exercises the grammar, ``builders.queries``, ``syntax.lexer``, ``planner.query`` and
``queries.push.refuse_cut``. ``tests/unit/server/cuts`` answers such statements.
"""

from __future__ import annotations

import pytest

from penstock.model.sql.errors import SqlError
from penstock.sql import SqlEngine
from penstock.sql.ast.queries import Cut, Query
from penstock.sql.syntax.format_query import format_query
from penstock.sql.syntax.parser import parse_statement

TABLE = """
    CREATE TABLE t (id INT PRIMARY KEY, of INT, cut INT)
        WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);
"""


def query(sql: str) -> Query:
    found = parse_statement(sql)
    assert isinstance(found, Query)
    assert parse_statement(format_query(found)) == found
    return found


@pytest.mark.parametrize(
    ("end", "cut"),
    [
        ("AS OF CUT 1795113519541", Cut(1795113519541)),
        ("WHERE id = 1 ORDER BY id LIMIT 3 OFFSET 1 AS OF CUT 5", Cut(5)),
        ("EMIT CHANGES LIMIT 3 AS OF CUT LATEST", Cut(None)),
        ("x as of cut latest", Cut(None)),
        ("AS x AS OF CUT 7", Cut(7)),
        ("", None),
    ],
)
def test_a_cut_stands_at_the_end_of_a_query(end: str, cut: Cut | None) -> None:
    assert query(f"SELECT * FROM t {end};").cut == cut


def test_its_words_are_still_names() -> None:
    """OF and CUT name columns, and OF may be the alias of a source or a column."""
    found = query("SELECT of, cut, latest AS of FROM t AS of WHERE cut = 1 AS OF CUT 5;")
    assert (found.source.alias, found.cut) == ("OF", Cut(5))  # type: ignore[union-attr]
    assert query("SELECT * FROM t AS of;").cut is None


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT * FROM t AS OF CUT;", "expected 'LATEST' or a whole number"),
        ("SELECT * FROM t AS OF CUT newest;", "expected 'LATEST' or a whole number"),
        ("SELECT * FROM t AS OF CUT 5 WHERE id = 1;", "write AS OF CUT behind everything else"),
        ("SELECT * FROM t AS OF CUT 99999999999999999999;", "is larger than 9223372036854775807"),
    ],
)
def test_what_cannot_be_read_says_what_to_write(sql: str, problem: str) -> None:
    with pytest.raises(SqlError, match=problem):
        parse_statement(sql)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("CREATE TABLE u AS SELECT * FROM t AS OF CUT 5;", "never ends, and a cut is one moment"),
        ("SELECT * FROM (SELECT * FROM t AS OF CUT 5) s;", "a cut holds for the whole statement"),
        ("WITH s AS (SELECT * FROM t AS OF CUT 5) SELECT * FROM s;", "for the whole statement"),
        (
            "SELECT * FROM t WHERE id IN (SELECT id FROM t AS OF CUT 5);",
            "for the whole statement",
        ),
        ("SELECT * FROM t AS OF CUT 5;", "AS OF CUT is answered by an SQL server"),
    ],
)
def test_where_no_cut_can_be_read_it_is_refused(sql: str, problem: str) -> None:
    engine = SqlEngine()
    engine.execute(TABLE)
    with pytest.raises(SqlError, match=problem) as refused:
        engine.execute(sql)
    assert refused.value.code == "as-of-cut"


def test_a_push_query_of_a_program_has_no_cut() -> None:
    engine = SqlEngine()
    engine.execute(TABLE)
    pushed = engine.query("SELECT * FROM t EMIT CHANGES AS OF CUT LATEST;")
    with engine.local() as queries, pytest.raises(SqlError, match="answered by an SQL server"):
        queries.subscribe(pushed)
