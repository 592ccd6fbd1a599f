"""Names for columns that the user did not name: ``KSQL_COL_0``, a field's own name, ``L_ID``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.sql.ast.expressions import Dereference, Expression

_NUMBERED = re.compile(r"(?P<name>.*?)(?:_(?P<number>\d+))?", re.DOTALL)
_GENERATED = "KSQL_COL"
_JOIN_KEY = "ROWKEY"


class AliasGenerator:
    """Generates names that differ from all taken names and from each other.

    A taken name that ends with a number reserves that number for the rest of the name; any other
    reserves 0.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}
        for name in taken:
            stem, number = _split(name)
            self._taken.setdefault(stem, set()).add(number)

    def alias_for(self, expression: Expression) -> str:
        """Return the name of a struct's field, or ``KSQL_COL_n`` for any other expression."""
        if isinstance(expression, Dereference):
            return self._fresh(_split(expression.field)[0])
        return self._fresh(_GENERATED)

    def join_key(self) -> str:
        return self._fresh(_JOIN_KEY)

    def _fresh(self, stem: str) -> str:
        number = self._next.get(stem, 0)
        while number in self._taken.get(stem, ()):
            number += 1
        self._next[stem] = number + 1
        return stem if number == 0 and stem != _GENERATED else f"{stem}_{number}"


def _split(name: str) -> tuple[str, int]:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, 0
    return match["name"], int(match["number"] or 0)


def join_column(source: str, name: str) -> str:
    """Return the name of a join's column if several sources have a column of that name."""
    return f"{source}_{name}"
