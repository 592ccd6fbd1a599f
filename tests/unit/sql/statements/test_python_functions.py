"""CREATE FUNCTION ... LANGUAGE PYTHON and DROP FUNCTION."""

import pickle
from typing import Any

import cloudpickle
import pytest

from penstock.model.sql.errors import AnalysisError, ParseError, SqlError
from penstock.sql import SqlEngine
from penstock.sql.syntax.format import format_statement
from penstock.sql.syntax.parser import parse_statement

ALLOWED = {"ksql.functions.python.enabled": "true"}
STREAM = """
CREATE STREAM s (k VARCHAR KEY, a INT, t VARCHAR)
    WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
TWICE = """
CREATE FUNCTION twice (x INT) RETURNS INT LANGUAGE PYTHON AS $$
def twice(x):
    return 2 * x
$$;
"""
USE = "CREATE STREAM o AS SELECT k, TWICE(a) AS a FROM s;"


def new_engine(*scripts: str) -> SqlEngine:
    engine = SqlEngine(ALLOWED)
    for script in (STREAM, *scripts):
        engine.execute(script)
    return engine


def written(engine: SqlEngine, *values: bytes, over_columns: bool = False) -> list[Any]:
    with engine.local(over_columns=over_columns) as queries:
        for value in values:
            queries.pipe("s", b"k", value)
        return [record.value for record in queries.produced]


@pytest.mark.parametrize("over_columns", [False, True])
def test_a_created_function_is_called_by_queries(over_columns: bool) -> None:
    """It can be used by the next statement of the same script."""
    engine = new_engine(TWICE + USE)
    assert written(engine, b'{"a": 4}', b'{"a": null}', over_columns=over_columns) == [
        b'{"A":8}',
        b'{"A":null}',
    ]


def test_it_is_off_unless_the_configuration_allows_it() -> None:
    """A script cannot allow itself to run code."""
    engine = SqlEngine()
    with pytest.raises(AnalysisError, match="functions-not-allowed"):
        engine.execute(TWICE)
    with pytest.raises(AnalysisError, match="fixed-setting"):
        engine.execute("SET 'ksql.functions.python.enabled' = 'true';" + TWICE)
    with pytest.raises(AnalysisError, match="fixed-setting"):
        engine.execute("UNSET 'ksql.functions.python.enabled';")


def test_hints_give_the_types_where_the_statement_does_not() -> None:
    """Functions, generators and classes work as with the decorators."""
    engine = new_engine(
        """
        CREATE FUNCTION plus LANGUAGE PYTHON AS $$
            def plus(x: int, y: int = 1) -> int:
                "Adds; one by default."
                return x + y
        $$;
        CREATE FUNCTION longest LANGUAGE PYTHON AS $$
            class Longest:
                def initialize(self) -> str:
                    return ""
                def aggregate(self, state: str, text: str) -> str:
                    return max(state, text, key=len)
                def merge(self, a: str, b: str) -> str:
                    return max(a, b, key=len)
        $$;
        CREATE FUNCTION letters (t VARCHAR) RETURNS TABLE (letter VARCHAR) LANGUAGE PYTHON AS $$
            def letters(t):
                yield from t
        $$;
        CREATE STREAM o AS SELECT k, PLUS(a) AS p, LETTERS(t) AS l FROM s;
        CREATE TABLE g AS SELECT k, LONGEST(t) AS t FROM s GROUP BY k;
        """
    )
    assert written(engine, b'{"a": 4, "t": "ab"}', b'{"a": 4, "t": "c"}') == [
        b'{"P":5,"L":"a"}',
        b'{"P":5,"L":"b"}',
        b'{"T":"ab"}',
        b'{"P":5,"L":"c"}',
        b'{"T":"ab"}',
    ]
    assert engine.execute("DESCRIBE FUNCTION plus;")[0].details["description"] == (  # type: ignore[attr-defined]
        "Adds; one by default."
    )


def test_rows_of_several_columns_are_structs() -> None:
    """RETURNS TABLE (a ..., b ...) has rows that are dictionaries."""
    engine = new_engine(
        """
        CREATE FUNCTION pairs (t VARCHAR) RETURNS TABLE (n INT, l VARCHAR) LANGUAGE PYTHON AS $$
        def pairs(t):
            return [{"n": n, "l": l} for n, l in enumerate(t)]
        $$;
        CREATE STREAM o AS SELECT k, PAIRS(t) AS p FROM s;
        """
    )
    assert written(engine, b'{"t": "x"}') == [b'{"P":{"N":0,"L":"x"}}']


def test_functions_over_columns() -> None:
    """WITH (COLUMNS = TRUE) hands Arrow arrays over."""
    engine = new_engine(
        """
        CREATE FUNCTION shout (t VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON
            WITH (COLUMNS = TRUE) AS $$
        import pyarrow.compute as pc
        def shout(t):
            return pc.utf8_upper(t)
        $$;
        CREATE STREAM o AS SELECT k, SHOUT(t) AS t FROM s;
        """
    )
    assert written(engine, b'{"t": "x"}', over_columns=True) == [b'{"T":"X"}']


def test_drop_and_replace() -> None:
    """A function that no query calls can go or change; one in use cannot."""
    engine = new_engine(TWICE)
    with pytest.raises(AnalysisError, match="function-exists"):
        engine.execute(TWICE)
    engine.execute(TWICE.replace("FUNCTION", "FUNCTION IF NOT EXISTS").replace("2 *", "5 *"))
    engine.execute(TWICE.replace("CREATE", "CREATE OR REPLACE").replace("2 *", "3 *") + USE)
    assert written(engine, b'{"a": 4}') == [b'{"A":12}']
    for statement in ("DROP FUNCTION twice;", TWICE.replace("CREATE", "CREATE OR REPLACE")):
        with pytest.raises(AnalysisError, match="CSAS_O_0 calls function TWICE"):
            engine.execute(statement)
    engine.execute("TERMINATE CSAS_O_0; DROP FUNCTION twice; DROP FUNCTION IF EXISTS twice;")
    with pytest.raises(AnalysisError, match="unknown-function"):
        engine.execute("DROP FUNCTION twice;")


def test_functions_of_the_library_stay() -> None:
    """Nobody replaces or drops what others rely on."""
    engine = new_engine()
    with pytest.raises(AnalysisError, match="function-exists"):
        engine.execute("CREATE OR REPLACE FUNCTION ucase LANGUAGE PYTHON AS $$ucase = str.upper$$;")
    with pytest.raises(AnalysisError, match="unknown-function"):
        engine.execute("DROP FUNCTION IF EXISTS ucase;")


def test_a_refused_script_leaves_no_function() -> None:
    """Functions belong to the script like all else it makes."""
    engine = new_engine()
    with pytest.raises(SqlError):
        engine.execute(TWICE + "CREATE STREAM o AS SELECT k, NOWHERE(a) FROM s;")
    with pytest.raises(AnalysisError, match="unknown-function"):
        engine.execute(USE)


@pytest.mark.parametrize(
    ("statement", "code", "text"),
    [
        ("CREATE FUNCTION f LANGUAGE JAVA AS $$x$$", "unknown-language", "JAVA"),
        ("CREATE FUNCTION f LANGUAGE PYTHON AS $$\n\ndef f(:$$", "bad-function-body", "line 3"),
        ("CREATE FUNCTION f LANGUAGE PYTHON AS $$\n1 / 0$$", "bad-function-body", "line 2"),
        ("CREATE FUNCTION f LANGUAGE PYTHON AS $$g = 1$$", "no-such-function", "def f("),
        ("CREATE FUNCTION f LANGUAGE PYTHON AS $$def f(x): pass$$", "no-sql-type", "FUNCTION F:1"),
        ("CREATE FUNCTION f (x INT) LANGUAGE PYTHON AS $$def f(x): pass$$", "incomplete-s", "both"),
        (
            "CREATE FUNCTION f (x INT) RETURNS INT LANGUAGE PYTHON AS $$class F: pass$$",
            "types-twice",
            "hints",
        ),
        (
            "CREATE FUNCTION f LANGUAGE PYTHON WITH (SPEED = 5) AS $$def f(x: int) -> int: pass$$",
            "unknown-property",
            "COLUMNS",
        ),
    ],
)
def test_bad_functions_are_refused(statement: str, code: str, text: str) -> None:
    """The error has the statement's place and, for the body, the script's line."""
    with pytest.raises(AnalysisError, match=code) as raised:
        new_engine().execute(statement)
    assert text in str(raised.value)
    assert raised.value.span is not None


def test_errors_have_the_lines_of_the_script() -> None:
    """Line 4 of the script is line 4 of the error."""
    engine = new_engine()
    engine.execute(TWICE.replace("2 * x", "x / 0"))
    function = engine.catalog.functions["TWICE"].function
    with pytest.raises(ZeroDivisionError) as raised:
        function(1)
    trace = raised.value.__traceback__
    assert trace is not None
    assert trace.tb_next is not None
    assert trace.tb_next.tb_lineno == 4


def test_statements_are_written_back() -> None:
    """What parses is formatted to what parses to the same."""
    texts = [
        "CREATE OR REPLACE FUNCTION F (X INT, `y` INT) RETURNS INT LANGUAGE PYTHON AS $$'${a}'$$",
        "CREATE FUNCTION F () RETURNS TABLE (A INT) LANGUAGE PYTHON WITH (COLUMNS = TRUE) AS ''",
        "CREATE FUNCTION IF NOT EXISTS F LANGUAGE PYTHON AS $$x$$",
        "CREATE FUNCTION F () RETURNS TABLE (A INT, B STRING) LANGUAGE PYTHON AS 'a$$b''c'",
        "DROP FUNCTION IF EXISTS F",
    ]
    for text in texts:
        statement = parse_statement(text)
        assert parse_statement(format_statement(statement)) == statement
    with pytest.raises(ParseError, match="does not end"):
        parse_statement("CREATE FUNCTION f LANGUAGE PYTHON AS $$ never")


def test_functions_travel_to_workers_by_value() -> None:
    """A worker has no such module: dataclasses and functions of the body go along."""
    before = cloudpickle.list_registry_pickle_by_value()
    engine = new_engine(
        """
        CREATE FUNCTION pair LANGUAGE PYTHON AS $$
        from __future__ import annotations
        from dataclasses import dataclass
        @dataclass
        class Two:
            a: int
            b: int
        def pair(x: int) -> Two:
            return Two(x, x + 1)
        $$;
        CREATE STREAM o AS SELECT k, PAIR(a) AS p FROM s;
        """
    )
    from penstock.runtime.spark.driver.pickling import packed  # noqa: PLC0415

    packed_function = packed(engine.catalog.functions["PAIR"].function)
    assert b"sql_function_pair" in packed_function
    assert pickle.loads(packed_function)(1).b == 2
    assert cloudpickle.list_registry_pickle_by_value() == before
