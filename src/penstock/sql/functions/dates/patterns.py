"""Java's date patterns, such as ``yyyy-MM-dd'T'HH:mm:ss.SSSX``, cut into pieces.

Formatting: ``dates.writing``. Parsing: ``dates.reading`` and ``dates.simple``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.model.sql.errors import FunctionError

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# The letters of DateTimeFormatter, and how often each may be repeated.
DATE_LETTERS = {"y": 19, "u": 19, "Y": 19, "w": 2, "W": 1, "d": 2, "D": 3}
DATE_LETTERS |= dict.fromkeys("MLQqEecG", 5)
TIME_LETTERS = {"a": 1, "H": 2, "k": 2, "h": 2, "K": 2, "m": 2, "s": 2, "S": 9}
TIME_LETTERS |= {"A": 19, "n": 19, "N": 19}
ZONE_LETTERS = {"V": 2, "z": 4, "O": 4, "X": 5, "x": 5, "Z": 5}
_WIDEST = {**DATE_LETTERS, **TIME_LETTERS, **ZONE_LETTERS}
_LETTERS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)
#: Real patterns have some tens of characters.
_LONGEST = 1_000
_NUMBERS = frozenset("yuYMLQqwWdDHkhKmsSAnN")


@dataclass(frozen=True, slots=True)
class Piece:
    """A letter repeated ``width`` times, or literal text when ``letter`` is empty.

    ``[`` and ``]`` are letters of width 0: the part between them is optional.
    """

    letter: str
    width: int
    text: str = ""
    is_adjacent: bool = False

    @property
    def is_number(self) -> bool:
        return self.letter in _NUMBERS and not (self.letter in "MLQq" and self.width > 2)


@lru_cache(maxsize=256)
def pieces_of(pattern: str) -> tuple[Piece, ...]:
    """Cut a pattern into pieces; raise a FunctionError where DateTimeFormatter would."""
    pieces = cut(pattern)
    depth = 0
    for piece in pieces:
        depth += (piece.letter == "[") - (piece.letter == "]")
        is_known = not piece.letter or piece.letter in "[]" or piece.letter in _WIDEST
        is_odd = piece.width > _WIDEST.get(piece.letter, piece.width) or piece.text in tuple("{}#")
        if not is_known or is_odd or depth < 0 or (piece.letter == "V" and piece.width != 2):
            raise FunctionError("bad-pattern", f"{pattern!r} is not a pattern of date and time")
    return pieces


def cut(pattern: str) -> tuple[Piece, ...]:
    """Cut a pattern into letters and literal text, whatever the letters are."""
    if len(pattern) > _LONGEST:
        raise FunctionError(
            "bad-pattern",
            f"a pattern of date and time has {len(pattern)} characters; the most is {_LONGEST}",
        )
    pieces: list[Piece] = []
    position = 0
    while position < len(pattern):
        match = _LETTERS.match(pattern, position)
        if match is None:
            raise FunctionError("bad-pattern", f"{pattern!r} has a quote that does not end")
        if match[2]:
            pieces.append(Piece(match[2], len(match[0])))
        elif match[0] in "[]":
            pieces.append(Piece(match[0], 0))
        else:
            text = match[0] if match[1] is None else match[1].replace("''", "'") or "'"
            pieces.append(Piece("", 0, text))
        position = match.end()
    return tuple(
        Piece(p.letter, p.width, p.text, is_adjacent=i < len(pieces) and pieces[i].is_number)
        for i, p in enumerate(pieces, 1)
    )


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, such as Europe/Paris or +01:00, as ``ZoneId.of`` does."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match:
        offset = timedelta(
            hours=int(match[2]), minutes=int(match[3] or 0), seconds=int(match[4] or 0)
        )
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise FunctionError("bad-time-zone", f"there is no time zone {name!r}") from None


def zone_in_text(name: str) -> tzinfo:
    """Return a time zone by its name in a text, which may be an abbreviation such as PST."""
    return zone_of(_SHORT_ZONES.get(name.upper(), name))


_SHORT_ZONES = {
    **{name: name for name in ("Z", "UTC", "GMT")},
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "MDT": "America/Denver",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "EDT": "America/New_York",
    "BST": "Europe/London",
    "CEST": "Europe/Paris",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
}
