"""Sets of characters, as in the square brackets of a regular expression."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

_LAST = 0x10FFFF

#: Ranges of code points, both ends included, in order and apart from each other.
Characters = tuple[tuple[int, int], ...]


def joined(ranges: Iterable[tuple[int, int]]) -> Characters:
    """Return the union of some ranges."""
    found: list[list[int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    return tuple((first, last) for first, last in found)


def without(characters: Characters) -> Characters:
    """Return all characters but these."""
    found, start = [], 0
    for first, last in characters:
        if start < first:
            found.append((start, first - 1))
        start = last + 1
    return tuple(found) if start > _LAST else (*found, (start, _LAST))


def common(one: Characters, other: Characters) -> Characters:
    """Return the characters that are in both."""
    return without(joined((*without(one), *without(other))))


def of(text: str) -> Characters:
    """Return the characters of a text."""
    return joined((ord(char), ord(char)) for char in text)


def any_case(characters: Characters) -> Characters:
    """Add the other case of the letters A to Z, as Java does without the flag ``u``."""
    more = []
    for low, high, step in ((ord("a"), ord("z"), -32), (ord("A"), ord("Z"), 32)):
        for first, last in characters:
            start, end = max(first, low), min(last, high)
            if start <= end:
                more.append((start + step, end + step))
    return joined((*characters, *more))


DIGITS = joined([(ord("0"), ord("9"))])
LOWER = joined([(ord("a"), ord("z"))])
UPPER = joined([(ord("A"), ord("Z"))])
WORD = joined((*DIGITS, *LOWER, *UPPER, *of("_")))
SPACES = of(" \t\n\x0b\f\r")
LINE_ENDS = of("\n\r\x85\u2028\u2029")
VERTICAL = joined((*LINE_ENDS, *of("\x0b\f")))
HORIZONTAL = joined((*of(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), (0x2000, 0x200A)))

_NAMED: dict[str, Characters] = {
    "Lower": LOWER,
    "Upper": UPPER,
    "ASCII": ((0, 0x7F),),
    "Alpha": joined((*LOWER, *UPPER)),
    "Digit": DIGITS,
    "Alnum": joined((*DIGITS, *LOWER, *UPPER)),
    "Punct": joined([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)]),
    "Graph": ((0x21, 0x7E),),
    "Print": ((0x20, 0x7E),),
    "Blank": of(" \t"),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "XDigit": joined((*DIGITS, (ord("a"), ord("f")), (ord("A"), ord("F")))),
    "Space": SPACES,
}
_TESTS: dict[str, Callable[[str], bool]] = {
    "Alphabetic": str.isalpha,
    "Lowercase": str.islower,
    "Uppercase": str.isupper,
    "White_Space": str.isspace,
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaWhitespace": str.isspace,
}
_CATEGORIES = frozenset(
    [
        "C",
        "Cc",
        "Cf",
        "Cn",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
    ]
)


@lru_cache(maxsize=64)
def named(name: str) -> Characters | None:
    """Return the characters of a property such as ``Alpha`` or ``IsAlphabetic``, if it is one."""
    if name in _NAMED:
        return _NAMED[name]
    plain = name.removeprefix("Is")
    test = _TESTS.get(plain)
    if test is None and plain not in _CATEGORIES:
        return None

    def holds(char: str) -> bool:
        return test(char) if test else unicodedata.category(char).startswith(plain)

    return joined((code, code) for code in range(0x10000) if holds(chr(code)))
