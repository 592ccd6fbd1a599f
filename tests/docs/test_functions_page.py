"""The page of SQL functions has every function, and the engine answers as the page says."""

from __future__ import annotations

from penstock.sql.functions.library import built_in_functions
from tests.docs import functions_page


def test_every_function_has_an_example() -> None:
    """A new function gets an example in `functions.toml`, and a removed one loses it."""
    assert set(functions_page.examples()) == set(built_in_functions().names())
    assert all(functions_page.examples().values())


def test_answers_are_those_of_the_page() -> None:
    """The engine evaluates every example; `python -m tests.docs` writes the page."""
    assert functions_page.PAGE.read_text(encoding="utf-8") == functions_page.render()
