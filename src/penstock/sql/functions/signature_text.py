"""Parses signatures such as ``ARRAY<A>, (A) => B -> ARRAY<B>``. Their meaning: ``signature``.

Types are written as in SQL, in any case. A single letter is a type variable, ``DECIMAL`` any
decimal, ``STRUCT`` any struct, ``ANY`` any type, ``X...`` any number of arguments, ``(A) => B`` a
lambda.
"""

from __future__ import annotations

import re
from typing import NoReturn

from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    DecimalType,
    Field,
    StructType,
)
from penstock.sql.functions.signature import (
    INTERVAL_UNIT,
    AnyOf,
    Bindings,
    DictOf,
    LambdaOf,
    ListOf,
    Pattern,
    Signature,
    Variable,
    substitute,
)

_NAMES: dict[str, Pattern] = {
    t.name: t
    for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, INTERVAL_UNIT)
}
_NAMES |= {"INT": INTEGER, "VARCHAR": STRING, "UNIT": INTERVAL_UNIT}
_NAMES |= {kind: AnyOf(kind) for kind in ("ANY", "DECIMAL", "STRUCT")}
_NAMES["DEC"] = AnyOf("DECIMAL")
_KNOWN = [*_NAMES, "ARRAY", "MAP"]
_WORD = re.compile(r"""=>|->|\.\.\.|`[^`]+`|"[^"]+"|\w+|[<>(),]""")
_SPACE = re.compile(r"\s*")


def parse_signature(text: str) -> Signature:
    """Read a signature.

    >>> str(parse_signature("varchar, A... -> ARRAY<A>"))
    '(STRING, A...)'

    Raises:
        AnalysisError: the text is not a signature; the message says where it stops being one.
    """
    return _Reader(text).signature()


def _is_concrete(pattern: Pattern) -> bool:
    match pattern:
        case ListOf(element):
            return _is_concrete(element)
        case DictOf(key, value):
            return _is_concrete(key) and _is_concrete(value)
        case _:
            return not isinstance(pattern, AnyOf | Variable | LambdaOf)


class _Reader:
    """Reads the tokens of a signature from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = [*self._split(text)]
        self._at = 0

    def _split(self, text: str) -> list[str]:
        words, place = [], _SPACE.match(text).end()  # type: ignore[union-attr]
        while place < len(text):
            found = _WORD.match(text, place)
            if found is None:
                self._refuse(f"{text[place]!r} has no meaning")
            words.append(found[0] if found[0][0] in '`"' else found[0].upper())
            place = _SPACE.match(text, found.end()).end()  # type: ignore[union-attr]
        return words

    def signature(self) -> Signature:
        parameters: list[Pattern] = []
        variadic = None
        while self._peek() != "->":
            if parameters:
                self._expect(",")
            parameters.append(self._pattern())
            if self._peek() == "...":
                if variadic is not None:
                    self._refuse("two parameters have '...'")
                self._next()
                variadic = len(parameters) - 1
        self._next()
        result = self._pattern()
        if self._peek():
            self._refuse(f"{self._peek()!r} stands behind the result")
        return Signature(tuple(parameters), result, variadic)

    def _peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _next(self) -> str:
        word = self._peek()
        if not word:
            self._refuse("it ends too soon")
        self._at += 1
        return word

    def _expect(self, wanted: str) -> None:
        found = self._peek()
        if found != wanted:
            self._refuse(f"{wanted!r} is missing before {found!r}" if found else "it ends too soon")
        self._at += 1

    def _pattern(self) -> Pattern:
        word = self._next()
        match word:
            case "(":
                return self._lambda()
            case "ARRAY":
                self._expect("<")
                element = self._pattern()
                self._expect(">")
                return ListOf(element)
            case "MAP":
                self._expect("<")
                key = self._pattern()
                self._expect(",")
                value = self._pattern()
                self._expect(">")
                return DictOf(key, value)
            case "STRUCT" if self._peek() == "<":
                return self._struct()
            case "DECIMAL" | "DEC" if self._peek() == "(":
                return self._decimal()
        if len(word) == 1 and word.isalpha():
            return Variable(word)
        if word not in _NAMES:
            self._refuse(f"there is no type {word!r}", did_you_mean(word, _KNOWN))
        return _NAMES[word]

    def _struct(self) -> StructType:
        self._next()
        fields: list[Field] = []
        while self._peek() != ">":
            if fields:
                self._expect(",")
            name = self._next().strip('`"')
            pattern = self._pattern()
            if not _is_concrete(pattern):
                self._refuse(f"{pattern} of field {name} does not say which type it is")
            fields.append(Field(name, substitute(pattern, Bindings())))
        self._next()
        return StructType(tuple(fields))

    def _decimal(self) -> DecimalType:
        self._next()
        precision = self._next()
        self._expect(",")
        scale = self._next()
        self._expect(")")
        if not (precision.isdigit() and scale.isdigit() and 1 <= int(precision) >= int(scale)):
            self._refuse(f"DECIMAL({precision}, {scale}) is not a type")
        return DecimalType(int(precision), int(scale))

    def _lambda(self) -> LambdaOf:
        parameters = [self._pattern()]
        while self._peek() == ",":
            self._next()
            parameters.append(self._pattern())
        self._expect(")")
        self._expect("=>")
        return LambdaOf(tuple(parameters), self._pattern())

    def _refuse(self, why: str, fix: str | None = None) -> NoReturn:
        raise AnalysisError(
            "bad-signature",
            f"{self._text!r} is not a signature: {why}",
            fix=fix
            or "write types of SQL, then ->, then the type of the result:"
            " 'VARCHAR, DECIMAL(10, 2) -> ARRAY<BIGINT>'",
        )
