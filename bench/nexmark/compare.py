"""Compares rows of two engines: as sets with repeats, by the names that are expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]


def differences(found: Iterable[Row], expected: Iterable[Row]) -> list[str]:
    """Return the rows that only one side has, with how often; empty if there are none."""
    wanted = [_by_name(row) for row in expected]
    names = sorted(wanted[0]) if wanted else []
    mine = Counter(_shown(_by_name(row), names) for row in found)
    own = Counter(_shown(row, names) for row in wanted)
    extra = [f"+{count} {row}" for row, count in (mine - own).items()]
    missing = [f"-{count} {row}" for row, count in (own - mine).items()]
    return [*extra, *missing]


def _by_name(row: Row) -> dict[str, Any]:
    return {name.upper(): value for name, value in row.items()}


def _shown(row: Row, names: list[str]) -> str:
    return repr([_plain(row[name]) for name in names])


def _plain(value: Any) -> Any:
    """Return a value without what differs between engines: zones, and kinds of numbers."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return f"{float(value):.12g}"
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return sorted((name.upper(), _plain(each)) for name, each in value.items())
    return value
