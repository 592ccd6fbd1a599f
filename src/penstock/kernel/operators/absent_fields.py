"""Counts records that lack a field which an expression needs: they change no result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.expr.absent import AbsentFields
from penstock.kernel.columns.effects import Effects
from penstock.model.rules.drop_reasons import absent_field


def noting(
    absent: AbsentFields, node: str, dropped: Callable[[str, str], None]
) -> Callable[[Any], None] | None:
    """Return the function that counts a value without a field; None if there is no such field."""
    if not absent.names:
        return None
    first = absent.first

    def note(value: Any) -> None:
        name = first(value)
        if name is not None:
            dropped(node, absent_field(name))

    return note


def count_absent(absent: AbsentFields, node: str, values: Iterable[Any], effects: Effects) -> None:
    """Count values of a batch in the same way."""
    found = Counter(absent.first(value) for value in values)
    del found[None]
    for name, count in found.items():
        effects.drop(node, absent_field(name), count)


def may_lack(absent: AbsentFields, items: Sequence[Sequence[Any]]) -> bool:
    """Return whether a field can be absent: what an aggregate takes of a record is null then."""
    return bool(absent.names) and any(None in column for column in items)
