"""Functions that cut, join, search and mask strings and bytes.

Encodings: ``encodings``. Regular expressions: ``patterns``.
"""

from __future__ import annotations

import re
from typing import Any
from unicodedata import category

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.declare import scalar

#: How long a padded value may be. No record of Kafka is that large.
_LONGEST = 100_000_000


@scalar("LCASE", "STRING -> STRING")
def lcase(text: str) -> str:
    """Convert a text to lower case."""
    return text.lower()


@scalar("UCASE", "STRING -> STRING")
def ucase(text: str) -> str:
    """Convert a text to upper case."""
    return text.upper()


@scalar("TRIM", "STRING -> STRING")
def trim(text: str) -> str:
    """Remove blanks from both ends."""
    # Java's trim removes every character whose code is at most that of the blank, and no other
    # white space.
    return text.strip("".join(map(chr, range(33))))


@scalar("LEN", "STRING -> INTEGER", "BYTES -> INTEGER")
def len_(value: str | bytes) -> int:
    """Count the characters of a text or the bytes of a byte string."""
    return len(value)


@scalar("INITCAP", "STRING -> STRING")
def initcap(text: str) -> str:
    """Convert the first letter of every word to upper case, and the others to lower case."""
    # As in ksqlDB, blanks before the first word are lost.
    words = re.findall(r"\S+\s*", text.lower())
    return "".join(word[:1].upper() + word[1:] for word in words)


@scalar("REPLACE", "STRING, STRING, STRING -> STRING")
def replace(text: str, old: str, new: str) -> str:
    """Replace every occurrence of a text."""
    return text.replace(old, new)


@scalar("SUBSTRING", "STRING, INTEGER -> STRING", "BYTES, INTEGER -> BYTES")
def substring(value: Any, position: int) -> Any:
    """Return the part from a position, counted from 1 or, if negative, from the end."""
    return value[_start(len(value), position) :]


@scalar("SUBSTRING", "STRING, INTEGER, INTEGER -> STRING", "BYTES, INTEGER, INTEGER -> BYTES")
def substring_of(value: Any, position: int, length: int) -> Any:
    start = _start(len(value), position)
    return value[start : max(start, min(start + length, len(value)))]


def _start(length: int, position: int) -> int:
    if position < 0:
        return max(length + position, 0)
    return max(0, min(position - 1, length))


@scalar("INSTR", "STRING, STRING -> INTEGER", takes_null=True)
def instr(text: str | None, part: str | None) -> int | None:
    """Return the position of a part, or 0; optionally of the n-th one from a start position."""
    return instr_nth(text, part, 1, 1)


@scalar("INSTR", "STRING, STRING, INTEGER -> INTEGER", takes_null=True)
def instr_from(text: str | None, part: str | None, position: int | None) -> int | None:
    return instr_nth(text, part, position, 1)


@scalar("INSTR", "STRING, STRING, INTEGER, INTEGER -> INTEGER", takes_null=True)
def instr_nth(
    text: str | None, part: str | None, position: int | None, occurrence: int | None
) -> int | None:
    if position is None or occurrence is None:
        return None
    # Nothing is nowhere in it.
    if text is None or part is None or position == 0 or abs(position) > len(text):
        return 0
    if position > 0:
        return _occurrence(text, part, position - 1, occurrence) + 1
    # Backwards, the part must end at that position or before it.
    found = _occurrence(text[::-1], part[::-1], -position - 1, occurrence)
    return len(text) - found - len(part) + 1 if found >= 0 else 0


def _occurrence(text: str, part: str, start: int, occurrence: int) -> int:
    if occurrence < 1:
        return -1
    found = start - 1
    for _ in range(occurrence):
        found = text.find(part, found + 1)
        if found < 0:
            return -1
    return found


@scalar("LPAD", "STRING, INTEGER, STRING -> STRING", "BYTES, INTEGER, BYTES -> BYTES")
def lpad(value: Any, length: int, padding: Any) -> Any:
    """Pad or cut to a length, from the left."""
    filling = _padding(value, length, padding)
    return None if filling is None else (filling + value)[:length]


@scalar("RPAD", "STRING, INTEGER, STRING -> STRING", "BYTES, INTEGER, BYTES -> BYTES")
def rpad(value: Any, length: int, padding: Any) -> Any:
    """Pad or cut to a length, from the right."""
    filling = _padding(value, length, padding)
    return None if filling is None else (value + filling)[:length]


def _padding(value: Any, length: int, padding: Any) -> Any:
    if length < 0 or len(padding) == 0:
        return None
    if length > _LONGEST:
        raise FunctionError(
            "too-long",
            f"a value cannot be padded to {length} characters; the most is {_LONGEST}",
            fix="pad to a smaller length",
        )
    missing = max(0, length - len(value))
    return (padding * (missing // len(padding) + 1))[:missing]


@scalar("CONCAT", "STRING... -> STRING", takes_null=True)
def concat(*values: str | None) -> str:
    """Join texts or byte strings; NULLs are left out."""
    return "".join(value for value in values if value is not None)


@scalar("CONCAT", "BYTES... -> BYTES", takes_null=True)
def concat_bytes(*values: bytes | None) -> bytes:
    return b"".join(value for value in values if value is not None)


@scalar("CONCAT_WS", "STRING, STRING... -> STRING", "BYTES, BYTES... -> BYTES", takes_null=True)
def concat_ws(separator: Any, *values: Any) -> Any:
    """Join texts or byte strings with a separator; NULLs are left out."""
    if separator is None:
        return None
    return separator.join(value for value in values if value is not None)


@scalar("SPLIT", "STRING, STRING -> ARRAY<STRING>", "BYTES, BYTES -> ARRAY<BYTES>")
def split(value: Any, delimiter: Any) -> list[Any]:
    """Split at a delimiter; an empty delimiter splits into characters or bytes."""
    if delimiter or not value:
        # Python refuses an empty delimiter, and in ksqlDB an empty text is one empty part.
        if not delimiter:
            return [value]
        return list(value.split(delimiter))
    return [value[i : i + 1] for i in range(len(value))]


@scalar("SPLIT_TO_MAP", "STRING, STRING, STRING -> MAP<STRING, STRING>")
def split_to_map(text: str, entry_delimiter: str, key_delimiter: str) -> dict[str, str] | None:
    """Split a text into entries, and entries into keys and values; leave out other parts."""
    if not entry_delimiter or not key_delimiter:
        return None
    entries = (entry.split(key_delimiter) for entry in text.split(entry_delimiter) if entry)
    return {parts[0]: parts[1] for parts in entries if len(parts) > 1}


@scalar("CHR", "INTEGER -> STRING")
def chr_(code: int) -> str | None:
    r"""Return the character of a code point, given as a number or as text such as '\u004b'."""
    return chr(code) if 0 <= code <= 0x10FFFF else None


@scalar("CHR", "STRING -> STRING")
def chr_escaped(escaped: str) -> str | None:
    if not re.match(r"\\u[0-9a-fA-F]{4}", escaped):
        return None
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), escaped)
    # Two escapes may be a surrogate pair, which is one character.
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


@scalar("FIELD", "STRING, STRING... -> INTEGER", takes_null=True)
def field(wanted: str | None, *values: str | None) -> int:
    """Return the position of the first argument among the others; 0 if it is not there."""
    if wanted is None or wanted not in values:
        return 0
    return values.index(wanted) + 1


@scalar("ELT", "INTEGER, STRING... -> STRING", takes_null=True)
def elt(position: int | None, *values: str | None) -> str | None:
    """Return the n-th of the texts after the number n."""
    if position is None or not 1 <= position <= len(values):
        return None
    return values[position - 1]


_MASKS = "Xxn-"


def masked(text: str, masks: tuple[Any, ...]) -> str:
    """Replace upper-case letters, lower-case letters, digits and others; a None mask keeps them."""
    *kinds, other = masks
    by_category = dict(zip(("Lu", "Ll", "Nd"), kinds, strict=True))
    found = (by_category.get(category(char), other) for char in text)
    return "".join(char if mask is None else mask for char, mask in zip(text, found, strict=True))


def _masks(masks: tuple[Any, ...]) -> tuple[Any, ...]:
    if not masks:
        return tuple(_MASKS)
    for mask in masks:
        if mask is not None and len(mask) != 1:
            raise FunctionError("bad-argument", f"mask {mask!r} is not one character")
    return masks


_FOUR = "STRING, STRING, STRING, STRING"


@scalar("MASK", "STRING -> STRING", f"STRING, {_FOUR} -> STRING", takes_null=True)
def mask(text: str | None, *masks: Any) -> str | None:
    """Mask every character: upper-case letters become X, lower-case x, digits n, others -."""
    return None if text is None else masked(text, _masks(masks))


def _declare_part(name: str, description: str, hide: Any) -> None:
    def hidden(text: str | None, count: int | None, *masks: Any) -> str | None:
        if count is not None and count < 0:
            raise FunctionError("bad-argument", f"{name} takes no negative count: {count}")
        if text is None or count is None:
            return None
        whole = masked(text, _masks(masks))
        cut = min(count, len(text))
        return str(hide(text, whole, cut))

    hidden.__doc__ = description
    signatures = ("STRING, INTEGER -> STRING", f"STRING, INTEGER, {_FOUR} -> STRING")
    scalar(name, *signatures, takes_null=True)(hidden)


_declare_part("MASK_LEFT", "Mask the first characters.", lambda t, m, n: m[:n] + t[n:])
_declare_part(
    "MASK_RIGHT", "Mask the last characters.", lambda t, m, n: t[: len(t) - n] + m[len(t) - n :]
)
_declare_part("MASK_KEEP_LEFT", "Mask all but the first characters.", lambda t, m, n: t[:n] + m[n:])
_declare_part(
    "MASK_KEEP_RIGHT",
    "Mask all but the last characters.",
    lambda t, m, n: m[: len(t) - n] + t[len(t) - n :],
)
