r"""Translates Java's regular expressions to Python's.

Most syntax is the same in both. What differs: ``\p{...}``, ``\h``, ``\R``, ``\Q...\E``,
named groups, flags in the middle, classes inside classes and ``&&``; and ``\w``, ``\d`` and ``\s``
are ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
# Kinds of characters, written without the brackets of a class.
_KINDS = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_NAMED_TESTS: dict[str, Callable[[str], bool]] = {
    "Alphabetic": str.isalpha,
    "Lowercase": str.islower,
    "Uppercase": str.isupper,
    "White_Space": str.isspace,
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaWhitespace": str.isspace,
}
_ESCAPES = {
    "h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "v": rf"[\x0b\f{_LINE_ENDS}]",
    "R": rf"(?:\r\n|[\x0b\f{_LINE_ENDS}])",
    "e": r"\x1b",
    "z": r"\Z",
    "Z": rf"(?=[{_LINE_ENDS}]?\Z)",
}
_PROPERTY = re.compile(r"\\([pP])(?:\{(\w+)\}|(\w))")
_WIDE = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_GROUP = re.compile(r"\(\?<(?=[A-Za-z])")


@lru_cache(maxsize=512)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a Java regular expression; raise re.error if it is not valid."""
    return re.compile(_Translation(pattern).whole(), re.ASCII)


class _Translation:
    """Reads a Java pattern from left to right, and returns its Python form."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._all_lines = bool(re.search(r"\(\?[a-zA-Z]*s", pattern))

    def whole(self) -> str:
        # Flags in the middle apply until the end of their group. Python needs a group of their own
        # for them.
        opened, parts = [0], []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "(":
                parts.append(self._open(opened))
            elif char == ")":
                self._at += 1
                parts.append(")" * (opened.pop() + 1 if len(opened) > 1 else 1))
            else:
                parts.append(self._one())
        return "".join(parts) + ")" * sum(opened)

    def _open(self, opened: list[int]) -> str:
        flags = _FLAGS.match(self._text, self._at)
        if flags:
            self._at = flags.end()
            opened[-1] += 1
            kept = "".join(flag for flag in flags[1] if flag in "imsx")
            return f"(?{kept}:" if kept else "(?:"
        opened.append(0)
        group = _GROUP.match(self._text, self._at)
        self._at = group.end() if group else self._at + 1
        return "(?P<" if group else "("

    def _one(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        self._at += 1
        return f"[^{_LINE_ENDS}]" if char == "." and not self._all_lines else char

    def _escape(self) -> str:
        """Translate an escape sequence, inside or outside a class."""
        found = _PROPERTY.match(self._text, self._at)
        if found:
            self._at = found.end()
            members = _members(found[2] or found[3])
            return f"[^{members}]" if found[1] == "P" else f"[{members}]"
        wide = _WIDE.match(self._text, self._at)
        if wide:
            self._at = wide.end()
            return f"\\U{int(wide[1], 16):08x}"
        if self._text.startswith(r"\Q", self._at):
            end = self._text.find(r"\E", self._at)
            quoted = self._text[self._at + 2 : end if end >= 0 else len(self._text)]
            self._at = end + 2 if end >= 0 else len(self._text)
            return re.escape(quoted)
        if self._text.startswith(r"\k<", self._at):
            end = self._text.index(">", self._at)
            name, self._at = self._text[self._at + 3 : end], end + 1
            return f"(?P={name})"
        escape = self._text[self._at : self._at + 2]
        self._at += 2
        return _ESCAPES.get(escape[1:], escape)

    def _class(self) -> str:
        """Translate a class: the union of its parts, or their intersection with ``&&``."""
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        sides: list[list[str]] = [[]]
        plain = ""
        is_first = True
        while self._at < len(self._text) and (is_first or self._text[self._at] != "]"):
            is_first = False
            if self._text.startswith("&&", self._at):
                self._at += 2
                sides[-1].append(plain)
                sides.append([])
                plain = ""
            elif self._text[self._at] == "[":
                sides[-1].append(self._class())
            else:
                plain += self._member()
        sides[-1].append(plain)
        self._at += 1
        return _one_character(sides, is_negated=is_negated)

    def _member(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            escape = self._escape()
            return escape[1:-1] if escape.startswith("[") and escape[1] != "^" else escape
        self._at += 1
        # Python warns about two of these in a row: they may get a meaning in the future.
        return f"\\{char}" if char in "&~|" else char


def _one_character(sides: list[list[str]], *, is_negated: bool) -> str:
    """Return a pattern for one character that is in all sides; a side is a union of parts."""
    simple = len(sides) == 1 and len(sides[0]) == 1 and not sides[0][0].startswith("[^")
    if simple:
        return f"[{'^' if is_negated else ''}{sides[0][0]}]"
    unions = []
    for parts in sides:
        nested, plain = parts[:-1], parts[-1]
        choices = [*nested, *([f"[{plain}]"] if plain else [])]
        unions.append(f"(?:{'|'.join(choices)})")
    both = "".join(f"(?={union})" for union in unions[:-1]) + unions[-1]
    return rf"(?:(?!{both})[\s\S])" if is_negated else f"(?:{both})"


@lru_cache(maxsize=64)
def _members(name: str) -> str:
    """Return the characters of a property such as ``Alpha`` or ``IsAlphabetic`` as ranges."""
    if name in _KINDS:
        return _KINDS[name]
    test = _NAMED_TESTS.get(name.removeprefix("Is"))
    category = name.removeprefix("Is")
    if test is None and not re.fullmatch(r"[CLMNPSZ][a-z]?", category):
        raise re.error(f"there is no character property {name!r}")

    def holds(char: str) -> bool:
        return test(char) if test else unicodedata.category(char).startswith(category)

    ranges: list[list[int]] = []
    for code in range(0x10000):
        if holds(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)
