"""Hashable keys for SQL values, which may be lists and dicts."""

from __future__ import annotations

from typing import Any


def key_of(value: Any) -> Any:
    """Return a hashable key; two keys are equal exactly if their values are equal."""
    if isinstance(value, list):
        return tuple(key_of(item) for item in value)
    if isinstance(value, dict):
        return frozenset((key_of(k), key_of(v)) for k, v in value.items())
    return value


def distinct(values: Any) -> list[Any]:
    """Return the values without duplicates, in the order of their first appearance."""
    seen: dict[Any, Any] = {}
    for value in values:
        seen.setdefault(key_of(value), value)
    return list(seen.values())
