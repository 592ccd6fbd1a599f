"""Functions and serdes that depend on their input alone, as whoever made them says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def pure(
    fn: F, is_order_free: bool = False, *, over_columns: Callable[..., Any] | None = None
) -> F:
    """Marks a function whose calls may be repeated, and done in any order between keys.

    A lambda of a user may do anything; one that a planner made from expressions does not. Of a
    fold that is free of order too, the same items give the same state in whatever order they come.

    ``over_columns`` does the same for a whole batch. It takes columns, of which ``values()`` gives
    the values, instead of the function's arguments, and gives columns instead of its result: of a
    mapper the values, or keys and values; of a function that gives any number of results the
    places of the records that they are of first, None if each record has exactly one. It gives
    None if it cannot tell, and the function itself is asked.
    """
    fn.is_pure = True  # type: ignore[attr-defined]
    fn.is_order_free = is_order_free  # type: ignore[attr-defined]
    fn.over_columns = over_columns  # type: ignore[attr-defined]
    return fn


def is_pure(value: object) -> bool:
    """Tells whether a function, serde or fold was marked, or is of a class that is."""
    return getattr(value, "is_pure", False) is True


def column_form(fn: object) -> Callable[..., Any] | None:
    """What a marked function does to whole columns, if it says so."""
    return getattr(fn, "over_columns", None)
