"""Finds ``name = 'value'`` in SQL text that may not be valid; ``masking`` hides values with it.

The search takes time in proportion to the text: it is done for everything that clients send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

#: Possessive, so that nothing is read twice.
_EQUALS = re.compile(r"=\s*+'")
_VALUE = re.compile(r"(?:[^']++|'')*+")
_QUOTES = "'\"`"


class Assignment(NamedTuple):
    """A name, and a value in quotes behind an equals sign.

    ``name`` has no quotes. ``value`` is written as in the text, with two quotes for one.
    ``start`` and ``end`` are where the value lies, without its quotes.
    """

    name: str
    is_quoted: bool
    value: str
    start: int
    end: int


def assignments(text: str) -> Iterator[Assignment]:
    """Yield every assignment of a text, from left to right.

    A value whose quote does not end reaches until the end of the text: it may be secret, too.
    A quote in a comment does not matter, because names are looked for in front of equals signs.
    """
    position = 0
    while (equals := _EQUALS.search(text, position)) is not None:
        start = equals.end()
        name = _name_before(text, equals.start(), position)
        if name is None:
            # The quote may be the first one of a name.
            position = start - 1
            continue
        end = _value_end(text, start)
        yield Assignment(*name, text[start:end], start, end)
        position = end + 1


def with_values(text: str, change: Callable[[Assignment], str]) -> str:
    """Return a text in which ``change`` has replaced the value of every assignment."""
    parts: list[str] = []
    last = 0
    for found in assignments(text):
        parts += (text[last : found.start], change(found))
        last = found.end
    return "".join([*parts, text[last:]])


def _value_end(text: str, start: int) -> int:
    found = _VALUE.match(text, start)
    return found.end() if found else start


def _name_before(text: str, end: int, first: int) -> tuple[str, bool] | None:
    """Return the name that ends before an equals sign, and whether it has quotes."""
    while end > first and text[end - 1].isspace():
        end -= 1
    if end > first and text[end - 1] in _QUOTES:
        start = text.rfind(text[end - 1], first, end - 1)
        return None if start < 0 else (text[start + 1 : end - 1], True)
    start = end
    while start > first and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    return (text[start:end], False) if start < end else None
