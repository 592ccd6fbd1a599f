"""Java's date patterns, such as ``yyyy-MM-dd'T'HH:mm:ss.SSSX``: writing and reading with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.sql.errors import FunctionError

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LETTERS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """A letter repeated ``width`` times, or literal text when ``letter`` is empty."""

    letter: str
    width: int
    text: str = ""
    is_adjacent: bool = False


@lru_cache(maxsize=256)
def pieces_of(pattern: str) -> tuple[Piece, ...]:
    """Cuts a pattern into pieces; raises FunctionError where Java would refuse it."""
    pieces: list[Piece] = []
    position = 0
    while position < len(pattern):
        match = _LETTERS.match(pattern, position)
        if match is None or (match[2] and match[2] not in _FIELDS):
            raise FunctionError("bad-pattern", f"{pattern!r} is not a pattern of date and time")
        if match[2]:
            pieces.append(Piece(match[2], len(match[0])))
        else:
            text = match[0] if match[1] is None else match[1].replace("''", "'") or "'"
            pieces.append(Piece("", 0, text))
        position = match.end()
    return tuple(
        Piece(p.letter, p.width, p.text, is_adjacent=_is_number(pieces, i + 1))
        for i, p in enumerate(pieces)
    )


def _is_number(pieces: list[Piece], i: int) -> bool:
    return i < len(pieces) and pieces[i].letter in "yuMdHhkKmsSDn" and pieces[i].letter != ""


def write(moment: datetime, pattern: str) -> str:
    """Writes a moment, whose time zone is set, by a pattern."""
    return "".join(
        _FIELDS[piece.letter](moment, piece.width) if piece.letter else piece.text
        for piece in pieces_of(pattern)
    )


def _number(value: int, width: int) -> str:
    return str(value).zfill(width)


def _year(moment: datetime, width: int) -> str:
    return f"{moment.year % 100:02}" if width == 2 else _number(moment.year, width)


def _week_year(moment: datetime, width: int) -> str:
    # Java's week belongs to the year of its Saturday, in the locale that ksqlDB runs with.
    return _year(moment + timedelta(days=(5 - moment.weekday()) % 7), width)


def _month(moment: datetime, width: int) -> str:
    name = _MONTHS[moment.month - 1]
    if width >= 3:
        return name[:3] if width == 3 else name
    return _number(moment.month, width)


def _weekday(moment: datetime, width: int) -> str:
    name = _DAYS[moment.weekday()]
    return name[:3] if width <= 3 else name


def _fraction(moment: datetime, width: int) -> str:
    return f"{moment.microsecond * 1000:09}"[:width].ljust(width, "0")


def _offset(moment: datetime, width: int, zero: str) -> str:
    offset = moment.utcoffset() or timedelta()
    if not offset and zero:
        return zero
    minutes = int(abs(offset).total_seconds()) // 60
    sign = "-" if offset < timedelta() else "+"
    hour, minute = f"{minutes // 60:02}", f"{minutes % 60:02}"
    if width == 1:
        return f"{sign}{hour}{minute if minute != '00' else ''}"
    return f"{sign}{hour}{':' if width == 3 else ''}{minute}"


def _zone_offset(moment: datetime, width: int) -> str:
    if width == 4:
        return f"GMT{_offset(moment, 3, '') if moment.utcoffset() else ''}"
    return _offset(moment, 3, "Z") if width == 5 else _offset(moment, 2, "")


def _zone_name(moment: datetime, _: int) -> str:
    return moment.tzname() or "UTC"


def _zone_id(moment: datetime, _: int) -> str:
    return getattr(moment.tzinfo, "key", None) or "UTC"


_FIELDS: dict[str, Callable[[datetime, int], str]] = {
    "y": _year,
    "u": _year,
    "Y": _week_year,
    "M": _month,
    "L": _month,
    "d": lambda m, w: _number(m.day, w),
    "D": lambda m, w: _number(m.timetuple().tm_yday, w),
    "E": _weekday,
    "a": lambda m, _: "AM" if m.hour < 12 else "PM",
    "H": lambda m, w: _number(m.hour, w),
    "k": lambda m, w: _number(m.hour or 24, w),
    "h": lambda m, w: _number((m.hour - 1) % 12 + 1, w),
    "K": lambda m, w: _number(m.hour % 12, w),
    "m": lambda m, w: _number(m.minute, w),
    "s": lambda m, w: _number(m.second, w),
    "S": _fraction,
    "n": lambda m, w: _number(m.microsecond * 1000, w),
    "z": _zone_name,
    "V": _zone_id,
    "X": lambda m, w: _offset(m, w, "Z"),
    "x": lambda m, w: _offset(m, w, ""),
    "Z": _zone_offset,
    "G": lambda m, _: "AD",
}


def read(text: str, pattern: str, zone: tzinfo = UTC) -> datetime:
    """Reads a moment by a pattern; what the pattern leaves out is the first one of 1970."""
    expression, letters = _reader(pattern)
    return _moment(expression.fullmatch(text), letters, text, zone)


def read_prefix(text: str, pattern: str) -> datetime:
    """Reads a moment from the start of a text, whatever follows, as PARSE_DATE does."""
    expression, letters = _reader(pattern)
    return _moment(expression.match(text), letters, text, UTC)


def _moment(
    match: re.Match[str] | None, letters: tuple[str, ...], text: str, zone: tzinfo
) -> datetime:
    if match is None:
        raise FunctionError("bad-date", f"{text!r} does not fit the pattern")
    found = {letter: value for letter, value in zip(letters, match.groups(), strict=True) if value}
    try:
        return _assemble(found, zone)
    except (ValueError, KeyError) as error:
        raise FunctionError("bad-date", f"{text!r} is not a moment: {error}") from None


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Gives a regular expression with one group for each letter of the pattern."""
    parts: list[str] = []
    letters: list[str] = []
    for piece in pieces_of(pattern):
        if not piece.letter:
            parts.append(re.escape(piece.text))
            continue
        if piece.letter == "Y":
            raise FunctionError("bad-pattern", "Y is the year of a week: write yyyy to read a date")
        letters.append("yy" if piece.letter in "yu" and piece.width == 2 else piece.letter)
        parts.append(f"({_digits(piece)})")
    return re.compile("".join(parts), re.IGNORECASE), tuple(letters)


def _digits(piece: Piece) -> str:
    letter, width = piece.letter, piece.width
    if letter in "ML" and width >= 3:
        return "|".join(name[:3] if width == 3 else name for name in _MONTHS)
    if letter == "E":
        return "|".join(name[:3] if width <= 3 else name for name in _DAYS)
    if letter in "zV":
        return r"[A-Za-z][\w/+:-]*"
    if letter in "XxZ":
        return r"Z|[+-]\d{2}(?::?\d{2})?" if letter != "x" else r"[+-]\d{2}(?::?\d{2})?"
    if letter in "aG":
        return "AM|PM" if letter == "a" else "AD|BC"
    # Only a lone letter reads as many digits as there are; more letters say how many.
    if width == 1 and not piece.is_adjacent and letter != "S":
        return r"\d+"
    return rf"\d{{{width}}}" if width > 1 or piece.is_adjacent or letter == "S" else r"\d{1,2}"


def _assemble(found: dict[str, str], zone: tzinfo) -> datetime:
    year = int(found.get("y") or found.get("u") or 0) or _short_year(found)
    if "D" in found:
        start = datetime(year, 1, 1) + timedelta(days=int(found["D"]) - 1)
        month, day = start.month, start.day
    else:
        month, day = _month_of(found.get("M") or found.get("L")), int(found.get("d", 1))
    fraction = (found.get("S") or "").ljust(6, "0")[:6]
    moment = datetime(
        year,
        month,
        day,
        _hour(found),
        int(found.get("m", 0)),
        int(found.get("s", 0)),
        int(fraction or 0),
    )
    return moment.replace(tzinfo=_zone_in(found) or zone)


def _short_year(found: dict[str, str]) -> int:
    return 2000 + int(found["yy"]) if "yy" in found else 1970


def _month_of(text: str | None) -> int:
    if text is None:
        return 1
    if text.isdigit():
        return int(text)
    return next(i for i, name in enumerate(_MONTHS, 1) if name.lower().startswith(text.lower()))


def _hour(found: dict[str, str]) -> int:
    if "H" in found:
        return int(found["H"])
    if "k" in found:
        return int(found["k"]) % 24
    hour = int(found.get("h") or found.get("K") or 0) % 12
    return hour + (12 if found.get("a", "").upper() == "PM" else 0)


def _zone_in(found: dict[str, str]) -> tzinfo | None:
    offset = found.get("X") or found.get("x") or found.get("Z")
    if offset:
        return zone_of(offset)
    name = found.get("z") or found.get("V")
    return zone_of(name) if name else None


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """Gives a time zone by its name, such as Europe/Paris, PST or +01:00."""
    text = name.strip()
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", text)
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(_SHORT_ZONES.get(text, text))
    except (KeyError, ValueError, OSError):
        raise FunctionError("bad-time-zone", f"there is no time zone {name!r}") from None


_SHORT_ZONES = {
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
