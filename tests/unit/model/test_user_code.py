"""Errors of code that is not ours keep their cause, and are told apart from our own."""

from __future__ import annotations

import pytest

from penstock.model.columns.row_columns import RowColumns
from penstock.model.user_code import UserCodeError, user_code


def test_an_error_inside_says_what_was_called_and_keeps_its_cause() -> None:
    """What the user's code raised is one step away."""
    with (
        pytest.raises(UserCodeError, match="a serde raised KeyError") as caught,
        user_code("a serde"),
    ):
        {}["a"]
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_that_is_known_already_stays_as_it_is() -> None:
    """The innermost call is the one that says what was called."""
    with (
        pytest.raises(UserCodeError, match="a serde raised ValueError"),
        user_code("a function"),
        user_code("a serde"),
    ):
        raise ValueError


def test_a_column_that_is_made_later_keeps_its_error() -> None:
    """Only who makes the column knows whether it calls code of the user."""
    rows = RowColumns([lambda: [1 // 0]], 1)
    with pytest.raises(ZeroDivisionError):
        rows.columns()
