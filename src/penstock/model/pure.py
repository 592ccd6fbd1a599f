"""Functions and serdes that depend on their input alone, as whoever made them says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def pure(fn: F, is_order_free: bool = False) -> F:
    """Marks a function whose calls may be repeated, and done in any order between keys.

    A lambda of a user may do anything; one that a planner made from expressions does not. Of a
    fold that is free of order too, the same items give the same state in whatever order they come.
    """
    fn.is_pure = True  # type: ignore[attr-defined]
    fn.is_order_free = is_order_free  # type: ignore[attr-defined]
    return fn


def is_pure(value: object) -> bool:
    """Tells whether a function, serde or fold was marked, or is of a class that is."""
    return getattr(value, "is_pure", False) is True
