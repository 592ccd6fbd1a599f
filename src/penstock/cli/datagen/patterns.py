r"""Generate texts that match a regular expression of a schema file.

Supported are letters, ``.``, ``\d``, ``\w``, ``\s``, classes with ranges, groups, ``|``, and the
repetitions ``?``, ``*``, ``+``, ``{n}`` and ``{m,n}``; ``*`` and ``+`` repeat up to ten times.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from penstock.cli.datagen.generators import Generate
from penstock.errors import InvalidArgumentError

_DIGITS = "0123456789"
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS + "_"
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": " "}
_MANY = 10


class _Node(Protocol):
    def text(self, random: Random) -> str: ...


class _Letters:
    def __init__(self, letters: str) -> None:
        self._letters = letters

    def text(self, random: Random) -> str:
        return random.choice(self._letters)


class _Sequence:
    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._nodes = nodes

    def text(self, random: Random) -> str:
        return "".join(node.text(random) for node in self._nodes)


class _Choice:
    def __init__(self, branches: Sequence[_Node]) -> None:
        self._branches = branches

    def text(self, random: Random) -> str:
        return random.choice(self._branches).text(random)


class _Repeat:
    def __init__(self, node: _Node, least: int, most: int) -> None:
        self._node, self._least, self._most = node, least, most

    def text(self, random: Random) -> str:
        return "".join(
            self._node.text(random) for _ in range(random.randint(self._least, self._most))
        )


def pattern(expression: str) -> Generate:
    """Return the generator of texts that match an expression.

    Raises:
        InvalidArgumentError: ``bad-pattern``.
    """
    node = _Reader(expression).whole()
    return lambda row: node.text(row.random)


class _Reader:
    """Read an expression from left to right."""

    def __init__(self, expression: str) -> None:
        self._text = expression.removeprefix("^").removesuffix("$")
        self._at = 0

    def whole(self) -> _Node:
        node = self._branches()
        if self._at < len(self._text):
            raise self._error(f"{self._text[self._at]!r} has no partner")
        return node

    def _error(self, why: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            "bad-pattern", f"{self._text!r} cannot be used: {why}", at=f"character {self._at + 1}"
        )

    def _branches(self) -> _Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _Choice(branches)

    def _sequence(self) -> _Node:
        nodes: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            nodes.append(self._repeated(self._atom()))
        return _Sequence(nodes)

    def _atom(self) -> _Node:
        letter = self._next()
        match letter:
            case "(":
                for mark in ("?:",):
                    if self._text.startswith(mark, self._at):
                        self._at += len(mark)
                node = self._branches()
                if self._next() != ")":
                    raise self._error("a group does not end")
                return node
            case "[":
                return self._class()
            case ".":
                return _Letters(_WORD)
            case "\\":
                escaped = self._next()
                return _Letters(_CLASSES.get(escaped, escaped))
            case "*" | "+" | "?" | "{":
                raise self._error("there is nothing before the repetition")
            case _:
                return _Letters(letter)

    def _class(self) -> _Node:
        letters = ""
        if self._peek() == "^":
            raise self._error("a class of all other letters is not known")
        while self._peek() not in ("", "]"):
            letter = self._next()
            if letter == "\\":
                escaped = self._next()
                letters += _CLASSES.get(escaped, escaped)
            elif self._peek() == "-" and self._peek(1) not in ("", "]"):
                self._at += 1
                letters += "".join(map(chr, range(ord(letter), ord(self._next()) + 1)))
            else:
                letters += letter
        if self._next() != "]" or not letters:
            raise self._error("a class is empty or does not end")
        return _Letters(letters)

    def _repeated(self, node: _Node) -> _Node:
        match self._peek():
            case "?":
                self._at += 1
                return _Repeat(node, 0, 1)
            case "*":
                self._at += 1
                return _Repeat(node, 0, _MANY)
            case "+":
                self._at += 1
                return _Repeat(node, 1, _MANY)
            case "{":
                return self._counted(node)
            case _:
                return node

    def _counted(self, node: _Node) -> _Node:
        end = self._text.find("}", self._at)
        inside = self._text[self._at + 1 : end] if end > 0 else ""
        least, comma, most = inside.partition(",")
        if not least.isdigit() or (most and not most.isdigit()):
            raise self._error("a repetition is {n} or {m,n}")
        self._at = end + 1
        if not comma:
            return _Repeat(node, int(least), int(least))
        return _Repeat(node, int(least), int(most) if most else int(least) + _MANY)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._text[at] if at < len(self._text) else ""

    def _next(self) -> str:
        letter = self._peek()
        if not letter:
            raise self._error("it ends too soon")
        self._at += 1
        return letter
