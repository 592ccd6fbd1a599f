"""Answers are compared as ksqlDB's own check does: rows in any order, and only what is said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.sqlcases.answer_rows import mismatches, row_mismatches

HEADER = {"header": {"queryId": "query_1", "schema": "`ID` INTEGER"}}


def rows(*values: Any) -> list[Any]:
    return [HEADER, *({"row": {"columns": [value]}} for value in values)]


def test_rows_may_come_in_any_order_unless_it_is_asked_for() -> None:
    """A table has no order; a case that wants one says so."""
    assert row_mismatches(rows(2, 1), rows(1, 2), "0.query", in_order=False) == []
    first, second = row_mismatches(rows(2, 1), rows(1, 2), "0.query", in_order=True)
    assert first == "0.query: {columns: [2]} stands where {columns: [1]} belongs"
    assert "{columns: [1]} stands" in second


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (rows(1), "2 parts, and not 3"),
        (rows(1, 1), "missing ['{columns: [2]}']"),
        (rows(1, "2"), "unexpected ['{columns: [\"2\"]}']"),
        ([{"header": {"queryId": "query_1"}}, *rows(1, 2)[1:]], "no schema"),
    ],
)
def test_a_difference_is_found(found: list[Any], word: str) -> None:
    """The number of rows, their values and types, and the header count."""
    (problem,) = row_mismatches(found, rows(1, 2), "0.query", in_order=False)
    assert word in problem


def test_only_what_is_said_is_compared() -> None:
    """Numbers are compared by value, and a name may ask for a beginning."""
    wanted = {"header": {"queryId|starts_with": "query_", "n": 1.50}}
    found = {"header": {"queryId": "query_7", "n": Decimal("1.5"), "more": True}}
    assert mismatches(found, wanted, "0") == []
    assert mismatches({"header": {"queryId": "x", "n": 1}}, wanted, "0") == [
        "0.header.queryId: 'x' does not begin with 'query_'",
        "0.header.n: 1, and not 1.5",
    ]
