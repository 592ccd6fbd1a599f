"""Assignments in SQL text that may not be valid."""

from __future__ import annotations

from penstock.sql.syntax.assignments import assignments


def test_assignments_are_found_from_left_to_right() -> None:
    """A name is found with or without quotes, and a value with the place where it lies."""
    text = "SET 'a' = 'x'; WITH (password='it''s')"
    found = list(assignments(text))
    assert [(each.name, each.value) for each in found] == [("a", "x"), ("password", "it''s")]
    assert [text[each.start : each.end] for each in found] == ["x", "it''s"]


def test_value_whose_quote_does_not_end_reaches_to_the_end() -> None:
    """It may be secret, too."""
    assert [each.value for each in assignments("password = 'secr")] == ["secr"]
