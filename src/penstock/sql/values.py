"""Equality of SQL values where Python needs something hashable."""

from __future__ import annotations

from typing import Any


def key_of(value: Any) -> Any:
    """Gives something hashable that is equal exactly for equal values."""
    if isinstance(value, list):
        return tuple(key_of(item) for item in value)
    if isinstance(value, dict):
        return frozenset((key_of(k), key_of(v)) for k, v in value.items())
    return value


def distinct(values: Any) -> list[Any]:
    """Gives the values without repeats, in the order they first appear."""
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(key_of(value), value)
    return list(seen.values())
