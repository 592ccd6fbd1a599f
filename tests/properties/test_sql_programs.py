"""Statements through the whole engine: they run, or they are refused by an error of ours."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.sql import SqlEngine, SqlError
from penstock.sql.syntax.format import format_statement
from tests.fuzz.target import new_engine
from tests.properties.sql_programs import statements
from tests.properties.sql_strategies import administration, definitions

_VALUES = [
    b'{"A":1,"B":"x","D":1.5,"C":[1,null],"M":{"x":1},"P":{"X":1,"Y":"y"},"T":5,"E":1.25}',
    b"{}",
    b"1,2",
    b"\xff",
    None,
]
records = st.lists(
    st.tuples(
        st.sampled_from(["s", "u", "t"]),
        st.sampled_from([b"k", b"", None]),
        st.sampled_from(_VALUES),
        st.integers(0, 100_000),
    ),
    max_size=4,
)
_ENGINE = new_engine()
_SOURCES = _ENGINE.catalog


def run(engine: SqlEngine, text: str, given_records: list[Any]) -> None:
    """Runs a statement, and records through whatever query it makes."""
    engine.catalog = _SOURCES.copy()
    engine.execute(text)
    engine.outbox.clear()
    with engine.local() as queries:
        for record in given_records:
            # Bad data may end a query, with an error that says so.
            with suppress(PenstockError):
                queries.pipe(*record)
    if text.startswith("SELECT") and " EMIT " not in text:
        engine.pull(text).rows(queries.records)


def check(statement: Any, given_records: list[Any]) -> None:
    if getattr(statement, "timeout_ms", None):
        # An assertion waits for as long as it says, which may be days.
        statement = replace(statement, timeout_ms=1)
    with suppress(SqlError):
        run(_ENGINE, format_statement(statement), given_records)


@given(statement=statements, given_records=records)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_statements_run_or_are_refused(statement: Any, given_records: list[Any]) -> None:
    """Whatever types and functions meet, nobody sees an internal error."""
    check(statement, given_records)


@given(statement=definitions | administration)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_statement_of_the_grammar_runs_or_is_refused(statement: Any) -> None:
    """Names that nobody knows, properties that make no sense."""
    check(statement, [])


@pytest.mark.slow
@given(statement=statements | definitions, given_records=records)
@settings(max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_statements_run_or_are_refused(statement: Any, given_records: list[Any]) -> None:
    """The same, for as long as it takes to find what is rare."""
    check(statement, given_records)
