"""Every tree that the grammar can express is formatted as text that parses to the same tree."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.sql.errors import SqlError
from penstock.sql.syntax.format import format_expression, format_statement
from penstock.sql.syntax.parser import keywords, parse, parse_expression, parse_statement
from tests.properties.sql_strategies import (
    administration,
    definitions,
    expressions,
    queries,
    with_queries,
)


@given(node=expressions | with_queries)
def test_expressions_read_back_as_written(node: Any) -> None:
    """Brackets, quotes and signs keep the meaning of every expression."""
    assert parse_expression(format_expression(node)) == node


@given(node=queries | definitions | administration)
def test_statements_read_back_as_written(node: Any) -> None:
    """Every statement has one text that parses to it again."""
    assert parse_statement(format_statement(node)) == node


fragments = st.lists(
    st.sampled_from(sorted(keywords()))
    | st.sampled_from(["(", ")", ",", "*", "=", "=>", "->", "<", ">", ".", ";", "1", "'a'", "x"])
    | st.text(max_size=3),
    max_size=12,
).map(" ".join)


@given(text=fragments | st.text())
def test_any_text_parses_or_is_refused_by_an_error_of_ours(text: str) -> None:
    """The parser never fails in a way that a caller does not expect."""
    with suppress(SqlError):
        assert isinstance(parse(text), tuple)
