r"""Translates Java's regular expressions to what ``linear_regex`` runs.

Most syntax is the same. Flags, classes inside classes, ``&&``, ``\p{...}``, ``\h``, ``\R`` and
``\Q...\E`` become sets of characters and plain groups here. What no linear engine can do is
refused: look-around, references to groups, possessive and atomic groups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.regex import character_sets as sets
from penstock.sql.functions.regex.character_sets import Characters
from penstock.sql.functions.regex.linear_regex import LinearPattern, compiled, is_linear

_SETS: dict[str, Characters] = {
    "d": sets.DIGITS,
    "w": sets.WORD,
    "s": sets.SPACES,
    "h": sets.HORIZONTAL,
    "v": sets.VERTICAL,
}
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_PROPERTY = re.compile(r"(?:\{(\w{1,40})\}|(\w))")
_CODE = re.compile(
    r"x\{([0-9a-fA-F]{1,8})\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|0([0-3]?[0-7]{1,2})"
)
_FLAGS = re.compile(r"\(\?([dimsuxU]{0,8})(?:-([dimsuxU]{0,8}))?([:)])")
_NAME = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]{0,99})>")
_COUNT = re.compile(r"\{\d{1,9}(?:,\d{0,9})?\}")
_REFUSED = {
    "(?=": "a look-ahead",
    "(?!": "a look-ahead",
    "(?<=": "a look-behind",
    "(?<!": "a look-behind",
    "(?>": "an atomic group",
}
#: Compiling takes time and memory for each character.
_LONGEST = 4_000
#: RE2 repeats nothing more often.
_MOST = 1000
_SIGNS = frozenset("\\^$.|?*+()[]{}")


@lru_cache(maxsize=512)
def java_pattern(pattern: str) -> LinearPattern:
    """Compile a Java regular expression.

    Raises:
        re.error: the pattern is not valid.
        FunctionError: ``unsupported-pattern``: it has something that needs backtracking.
    """
    if len(pattern) > _LONGEST:
        raise FunctionError(
            "unsupported-pattern",
            f"a pattern of {len(pattern)} characters is too long; the most is {_LONGEST}",
            fix="look for a list of texts with IN, or with a join",
        )
    read = _Translation(pattern)
    engine, steps = compiled(read.whole())
    return LinearPattern(engine, tuple(read.groups), read.names, tuple(read.ends), steps)


@dataclass(frozen=True, slots=True)
class _Flags:
    """Which flags are on at one place of a pattern."""

    is_case_free: bool = False
    is_multi_line: bool = False
    dot_is_all: bool = False
    has_comments: bool = False

    def changed(self, letters: str, *, on: bool) -> _Flags:
        """Return these flags with some on or off; others, such as ``u``, change nothing."""
        names = {
            "i": "is_case_free", "m": "is_multi_line", "s": "dot_is_all", "x": "has_comments",
        }  # fmt: skip
        return replace(self, **{names[each]: on for each in letters if each in names})


class _Translation:
    """Reads a Java pattern from left to right, and returns what the engine takes."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = _Flags()
        self._counted = 0
        #: RE2 and Python write code points and the end of a text in different ways.
        self._code, self._end = ("\\x{%x}", r"\z") if is_linear() else ("\\U%08x", r"\Z")
        #: The engine's number of each group of the pattern, and of each line end at the end.
        self.groups: list[int] = []
        self.names: dict[str, int] = {}
        self.ends: list[int] = []

    def whole(self) -> str:
        outer: list[_Flags] = []
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if self._flags.has_comments and self._skipped():
                continue
            if char == "(":
                parts.append(self._open(outer))
            elif char == ")":
                self._at += 1
                if not outer:
                    raise re.error("unbalanced parenthesis", self._text, self._at - 1)
                self._flags = outer.pop()
                parts.append(")" + self._quantifier())
            else:
                parts.append(self._one())
        if outer:
            raise re.error("missing ), unterminated group", self._text, len(self._text))
        return "".join(parts)

    def _skipped(self) -> bool:
        """Skip a blank or a comment, if one is here."""
        char = self._text[self._at]
        if char == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end + 1
            return True
        self._at += char in " \t\n\x0b\f\r"
        return char in " \t\n\x0b\f\r"

    def _open(self, outer: list[_Flags]) -> str:
        flags = _FLAGS.match(self._text, self._at)
        name = _NAME.match(self._text, self._at)
        if flags:
            self._at = flags.end()
            changed = self._flags.changed(flags[1], on=True).changed(flags[2] or "", on=False)
            if flags[3] == ":":
                outer.append(self._flags)
            self._flags = changed
            return "(?:" if flags[3] == ":" else ""
        if self._text.startswith("(?", self._at) and not name:
            raise self._refused_group()
        outer.append(self._flags)
        self._at = name.end() if name else self._at + 1
        self._counted += 1
        self.groups.append(self._counted)
        if name:
            self.names[name[1]] = len(self.groups)
        return "("

    def _refused_group(self) -> Exception:
        for start, what in _REFUSED.items():
            if self._text.startswith(start, self._at):
                return self._refused(f"{what}, {start}")
        return re.error("unknown extension", self._text, self._at)

    def _refused(self, what: str) -> FunctionError:
        return FunctionError(
            "unsupported-pattern",
            f"pattern {self._text!r} has {what}, which the engine of linear time does not have",
            fix="match more with the pattern, and take the part that you want as a group:"
            " REGEXP_EXTRACT('id=([0-9]+);', text, 1)",
        )

    def _one(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._written(self._class()) + self._quantifier()
        self._at += 1
        if char == ".":
            return self._dot() + self._quantifier()
        if char == "^":
            return "(?m:^)" if self._flags.is_multi_line else "^"
        if char == "$":
            return self._last()
        if char == "|":
            return char
        if char in "*+?":
            raise re.error("nothing to repeat", self._text, self._at - 1)
        return self._literal(char) + self._quantifier()

    def _dot(self) -> str:
        return "(?s:.)" if self._flags.dot_is_all else self._written(sets.without(sets.LINE_ENDS))

    def _quantifier(self) -> str:
        """Return the repetition behind a part; a possessive one never goes back, and is refused."""
        while self._flags.has_comments and self._at < len(self._text) and self._skipped():
            pass
        count = _COUNT.match(self._text, self._at)
        found = count[0] if count else self._text[self._at : self._at + 1]
        if not count and found not in ("*", "+", "?"):
            return ""
        if count and max(map(int, re.findall("[0-9]+", found))) > _MOST:
            raise self._refused(f"a repetition of more than {_MOST} times, {found}")
        self._at += len(found)
        after = self._text[self._at : self._at + 1]
        if after == "+":
            raise self._refused(f"a possessive repetition, {found}+")
        self._at += after == "?"
        return found + ("?" if after == "?" else "")

    def _last(self) -> str:
        """Translate ``$``: the end of the text, or the place before a line end that is last.

        The line end is matched as a group, which is cut off the result.
        """
        if self._flags.is_multi_line:
            return "(?m:$)"
        if self._text[self._at : self._at + 1] not in ("", ")", "|"):
            return self._end
        self._counted += 1
        self.ends.append(self._counted)
        return f"((?:\r\n|{self._written(sets.LINE_ENDS)})?){self._end}"

    def _literal(self, char: str) -> str:
        if self._flags.is_case_free and char.isascii() and char.isalpha():
            return f"[{char.upper()}{char.lower()}]"
        return f"\\{char}" if char in _SIGNS else char

    def _escape(self) -> str:
        """Translate what begins with a backslash, outside a class."""
        if self._text.startswith(r"\Q", self._at):
            return self._quoted()
        letter = self._text[self._at + 1 : self._at + 2]
        simple = {"A": r"\A", "b": r"\b", "B": r"\B", "z": self._end}.get(letter)
        if simple is not None:
            self._at += 2
            return simple
        if letter == "Z":
            self._at += 2
            return self._last()
        if letter == "R":
            self._at += 2
            return f"(?:\r\n|{self._written(sets.VERTICAL)})" + self._quantifier()
        if letter == "k" or letter in tuple("123456789"):
            raise self._refused(f"a reference to a group, \\{letter}")
        if letter in ("G", "X", "N"):
            raise self._refused(f"\\{letter}")
        return self._written(self._escaped()) + self._quantifier()

    def _quoted(self) -> str:
        end = self._text.find(r"\E", self._at)
        quoted = self._text[self._at + 2 : end if end >= 0 else len(self._text)]
        self._at = end + 2 if end >= 0 else len(self._text)
        return "".join(map(self._literal, quoted)) + (self._quantifier() if quoted else "")

    def _escaped(self) -> Characters:
        """Return the characters that an escape stands for, in or outside a class."""
        self._at += 1
        letter = self._text[self._at : self._at + 1]
        code = _CODE.match(self._text, self._at)
        if code:
            self._at = code.end()
            number = int(code[4], 8) if code[4] else int(code[1] or code[2] or code[3], 16)
            if number > 0x10FFFF:
                raise re.error("there is no such character", self._text, self._at)
            return self._cased(((number, number),))
        self._at += 1
        if letter in ("p", "P"):
            return self._property(is_negated=letter == "P")
        if letter.lower() in _SETS:
            found = _SETS[letter.lower()]
            return found if letter.islower() else sets.without(found)
        if letter == "" or (letter.isascii() and letter.isalnum() and letter not in _CHARACTERS):
            raise re.error(f"bad escape \\{letter}", self._text, self._at - 1)
        return self._cased(sets.of(_CHARACTERS.get(letter, letter)))

    def _property(self, *, is_negated: bool) -> Characters:
        name = _PROPERTY.match(self._text, self._at)
        found = sets.named(name[1] or name[2]) if name else None
        if name is None or found is None:
            shown = repr(name[1] or name[2]) if name else "without a name"
            raise re.error(f"there is no character property {shown}")
        self._at = name.end()
        return sets.without(found) if is_negated else found

    def _class(self) -> Characters:
        """Read a class: the union of its parts, or their intersection with ``&&``."""
        begin = self._at
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        sides: list[list[tuple[int, int]]] = [[]]
        is_first = True
        while self._at < len(self._text) and (is_first or self._text[self._at] != "]"):
            is_first = False
            if self._text.startswith("&&", self._at):
                self._at += 2
                sides.append([])
            elif self._text[self._at] == "[":
                sides[-1] += self._class()
            else:
                sides[-1] += self._member()
        if self._at >= len(self._text):
            raise re.error("unterminated character set", self._text, begin)
        self._at += 1
        found = sets.joined(sides[0])
        for side in sides[1:]:
            found = sets.common(found, sets.joined(side))
        return sets.without(found) if is_negated else found

    def _member(self) -> Characters:
        """Read one character of a class, or a range of them."""
        first = self._character()
        after = self._text[self._at : self._at + 2]
        is_range = after[:1] == "-" and len(after) == 2 and after[1] not in "]["
        if not is_range or len(first) != 1 or first[0][0] != first[0][1]:
            return self._cased(first)
        self._at += 1
        last = self._character()
        if len(last) != 1 or last[0][0] != last[0][1] or last < first:
            raise re.error("bad character range", self._text, self._at)
        return self._cased(((first[0][0], last[0][0]),))

    def _character(self) -> Characters:
        if self._text[self._at] != "\\":
            self._at += 1
            return sets.of(self._text[self._at - 1])
        flags, self._flags = self._flags, replace(self._flags, is_case_free=False)
        try:
            return self._escaped()
        finally:
            self._flags = flags

    def _cased(self, characters: Characters) -> Characters:
        return sets.any_case(characters) if self._flags.is_case_free else characters

    def _written(self, characters: Characters) -> str:
        if not characters:
            characters = ((0, 0x10FFFF),)
            return f"[^{self._code % 0}-{self._code % 0x10FFFF}]"
        if len(characters) == 1 and characters[0][0] == characters[0][1]:
            return self._code % characters[0][0]
        ranges = (
            self._code % first if first == last else f"{self._code % first}-{self._code % last}"
            for first, last in characters
        )
        return f"[{''.join(ranges)}]"
