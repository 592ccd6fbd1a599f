"""LIKE: whether a text fits a pattern with ``%`` and ``_``, in time that grows with the text.

The parts between the ``%`` are looked for from left to right, and the first place of each is right:
nothing is tried twice. A regular expression would try every place of every part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from penstock.model.sql.errors import FunctionError

# Wildcards do not match line ends, like the dot of Java's regular expressions.
_LINE_END = re.compile("[\n\r\x85\u2028\u2029]")
_IN_LINE = "[^\n\r\x85\u2028\u2029]"
#: Characters of a part with ``_`` times characters of a text: less than a second.
_MAX_WORK = 200_000_000


@dataclass(frozen=True, slots=True)
class _Part:
    """The characters between two ``%``; None stands for ``_``."""

    characters: tuple[str | None, ...]
    #: The text of a part without ``_``.
    plain: str | None
    #: The pattern of a part with ``_``.
    pattern: re.Pattern[str] | None

    @property
    def length(self) -> int:
        return len(self.characters)

    def find(self, text: str, start: int) -> int:
        """Return the first place of this part, from ``start`` on; -1 if there is none."""
        if self.pattern is None:
            return text.find(self.plain or "", start)
        if self.length * len(text) > _MAX_WORK:
            raise FunctionError(
                "pattern-budget",
                f"a LIKE pattern with {self.length} characters between two % is too large for a"
                f" text of {len(text)} characters: the product may be {_MAX_WORK}",
                fix="write fewer _ in a row",
            )
        found = self.pattern.search(text, start)
        return -1 if found is None else found.start()

    def stands_at(self, text: str, place: int) -> bool:
        """Return whether this part is at one place of a text."""
        if self.pattern is None:
            return text.startswith(self.plain or "", place)
        return self.pattern.match(text, place) is not None


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A pattern as its parts: one more than there are ``%``."""

    parts: tuple[_Part, ...]

    def fits(self, text: str) -> bool:
        """Return whether the whole text fits."""
        first, *middle, last = self.parts if len(self.parts) > 1 else (*self.parts, None)
        assert first is not None
        if not first.stands_at(text, 0):
            return False
        place = first.length
        if last is None:
            return place == len(text)
        for part in middle:
            assert part is not None
            start = part.find(text, place)
            if start < 0 or not _is_one_line(text, place, start):
                return False
            place = start + part.length
        end = len(text) - last.length
        return end >= place and last.stands_at(text, end) and _is_one_line(text, place, end)


def _is_one_line(text: str, start: int, end: int) -> bool:
    return _LINE_END.search(text, start, end) is None


@lru_cache(maxsize=256)
def like_pattern(pattern: str, escape: str | None) -> LikePattern:
    """Read a pattern.

    Raises:
        FunctionError: ``bad-pattern``: it ends with its escape.
    """
    parts: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for char in letters:
        if char == escape:
            escaped = next(letters, None)
            if escaped is None:
                raise FunctionError("bad-pattern", f"LIKE pattern {pattern!r} ends with its escape")
            parts[-1].append(escaped)
        elif char == "%":
            parts.append([])
        else:
            parts[-1].append(None if char == "_" else char)
    return LikePattern(tuple(map(_part, parts)))


def _part(characters: list[str | None]) -> _Part:
    if None not in characters:
        return _Part(tuple(characters), "".join(each or "" for each in characters), None)
    text = "".join(_IN_LINE if each is None else re.escape(each) for each in characters)
    return _Part(tuple(characters), None, re.compile(text))
