"""SQL text to AST. Language: ``grammar.lark``; words: ``lexer``; nodes: ``builders``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, cast

from lark import Lark
from lark.exceptions import UnexpectedToken

import penstock.sql.builders.queries
import penstock.sql.builders.statements  # noqa: F401 - registers the builders
from penstock.model.sql.errors import ParseError, SqlError, did_you_mean
from penstock.model.sql.span import Span
from penstock.sql.ast.expressions import Expression
from penstock.sql.ast.statements import Statement
from penstock.sql.ast.types import TypeNode
from penstock.sql.builders.expressions import refuse_too_large
from penstock.sql.builders.rules import build, token_span
from penstock.sql.syntax.lexer import (
    CUT_AS,
    GrammarLexer,
    Lexeme,
    SourceText,
    accepts,
    scan,
    split,
)
from penstock.sql.syntax.unsupported import unsupported_error

_NO_VARIABLES: Mapping[str, str] = {}
_LEAST_LONG = str(2**63)


@dataclass(frozen=True, slots=True)
class StatementText:
    """One statement of a script as text, before variables are replaced, and its position."""

    text: str
    span: Span
    #: The text of the whole script. All its statements share it.
    source: SourceText = field(compare=False, repr=False)

    def placed_in(self, script: str) -> str:
        """Return the statement after as much blank space as there is text before it in its script.

        So all spans of its tree, and all errors, have the line and column in the script. It takes
        time by the length of the script: for many statements use ``parsed``.
        """
        before = script[: self.span.start]
        return "".join("\n" if c == "\n" else " " for c in before) + self.text

    def parsed(self, variables: Mapping[str, str] = _NO_VARIABLES) -> Statement:
        """Parse the statement; spans and errors have the line and column in the script."""
        start = self.span.start
        try:
            lexemes = list(scan(self.source, variables, start, start + len(self.text)))
            return cast(Statement, _parse(lexemes, "statement"))
        except SqlError as error:
            raise error.with_source(self.source.text) from None


def split_statements(script: str) -> tuple[StatementText, ...]:
    """Cut a script at its semicolons, which may also stand inside quotes and comments."""
    source = SourceText(script)
    try:
        pieces = list(split(source))
    except SqlError as error:
        raise error.with_source(script) from None
    return tuple(StatementText(script[a:b], source.span(a, b), source) for a, b in pieces)


def parse(script: str, variables: Mapping[str, str] = _NO_VARIABLES) -> tuple[Statement, ...]:
    """Parse every statement of a script; ``variables`` has upper-case names.

    A script that defines variables is cut with ``split_statements`` and parsed one by one.
    """
    source = SourceText(script)
    try:
        pieces = list(split(source))
        lexemes = list(scan(source, variables))
        return tuple(
            cast(Statement, _parse(_within(lexemes, a, b), "statement")) for a, b in pieces
        )
    except SqlError as error:
        raise error.with_source(script) from None


def parse_statement(text: str, variables: Mapping[str, str] = _NO_VARIABLES) -> Statement:
    """Parse exactly one statement; its semicolon may be missing.

    >>> parse_statement("drop stream clicks;")
    DropSource(kind='STREAM', name='CLICKS', if_exists=False, delete_topic=False)
    """
    statements = parse(text, variables)
    if len(statements) == 1:
        return statements[0]
    span = statements[1].span if statements else SourceText(text).span(0, 0)
    raise ParseError(
        "not-one-statement",
        f"expected one statement, found {len(statements)}",
        span=span,
        source=text,
    )


def parse_expression(text: str, variables: Mapping[str, str] = _NO_VARIABLES) -> Expression:
    """Parse an expression that stands alone."""
    return cast(Expression, _parse_text(text, "expression", variables))


def parse_type(text: str) -> TypeNode:
    """Parse a type that stands alone: ``ARRAY<STRUCT<A INT>>``."""
    return cast(TypeNode, _parse_text(text, "type", _NO_VARIABLES))


def keywords() -> frozenset[str]:
    """Return all keywords of the grammar; most of them may also be names."""
    return frozenset(t.pattern.value for t in _grammar().terminals if t.pattern.value.isalpha())


@cache
def _grammar() -> Lark:
    text = resources.files("penstock.sql.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        start=["statement", "expression", "type"],
        parser="lalr",
        lexer=GrammarLexer,
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _parse_text(text: str, start: str, variables: Mapping[str, str]) -> Any:
    try:
        return _parse(list(scan(SourceText(text), variables)), start)
    except SqlError as error:
        raise error.with_source(text) from None


def _parse(lexemes: list[Lexeme], start: str) -> Any:
    try:
        # The custom lexer takes lexemes; Lark's own lexers take text.
        tree = build(_grammar().parse(cast(Any, lexemes), start=start))
    except UnexpectedToken as error:
        raise _unexpected(error, lexemes, start) from None
    if any(lexeme.value.endswith(_LEAST_LONG) for lexeme in lexemes):
        refuse_too_large(tree)
    return tree


def _within(lexemes: list[Lexeme], start: int, end: int) -> list[Lexeme]:
    first = bisect_left(lexemes, start, key=_place)
    return lexemes[first : bisect_left(lexemes, end, lo=first, key=_place)]


def _place(lexeme: Lexeme) -> int:
    return lexeme.span.start


def _unexpected(error: UnexpectedToken, lexemes: list[Lexeme], start: str) -> ParseError:
    known = unsupported_error(lexemes, _failed_at(error, lexemes), keywords())
    if known is not None:
        return known
    expected = _expected(error.state)
    if error.token.type == "$END":
        end = lexemes[-1].span if lexemes else Span(0, 0, 1, 1)
        return ParseError(
            "unexpected-end",
            f"the {start} ends too soon; expected {_listed(expected)}",
            fix=_missing_source(lexemes),
            span=end,
        )
    token = error.token
    span = token_span(token)
    if len(lexemes) > 0 and start == "statement" and lexemes[0].span == span:
        code, message = "unknown-statement", f"no statement starts with {str(token)!r}"
    else:
        code = "unexpected-token"
        message = f"unexpected {str(token)!r}; expected {_listed(expected)}"
    return ParseError(code, message, fix=_advice(token, expected), span=span)


def _failed_at(error: UnexpectedToken, lexemes: list[Lexeme]) -> int:
    if error.token.type == "$END":
        return len(lexemes)
    return bisect_left(lexemes, error.token.start_pos or 0, key=_place)


def _missing_source(lexemes: list[Lexeme]) -> str | None:
    words = [lexeme.value for lexeme in lexemes if lexeme.kind == "WORD"]
    if "SELECT" in words and "FROM" not in words:
        return "every SELECT reads FROM a stream or table"
    return None


def _advice(token: Any, expected: list[str]) -> str | None:
    words = [word for word in expected if word.isalpha()]
    if token.type == "STRING" or not str(token):
        return None
    near = did_you_mean(str(token), words)
    if near is None and token.type != "IDENT" and "a name" in expected and str(token).isalpha():
        return f"{token} is a reserved word: write `{token}` to use it as a name"
    return near


_KINDS = {
    "IDENT": "a name",
    "STRING": "a string",
    "INTEGER": "a whole number",
    "DECIMAL": "a number",
    "FLOAT": "a number",
    "LAMBDA_OPEN": "'('",
    CUT_AS: "AS OF CUT",
    "$END": "the end of the statement",
}


def _expected(state: Any) -> list[str]:
    texts = {t.name: t.pattern.value for t in _grammar().terminals}
    table = state.parse_conf.states[state.position]
    found = {
        _KINDS.get(name) or texts.get(name, name)
        for name in table
        if name.isupper() or name.startswith(("__ANON", "$"))
        if accepts(state, name)
    }
    return sorted(found)


def _listed(expected: list[str]) -> str:
    shown = [text if text in _KINDS.values() else repr(text) for text in expected]
    if len(shown) > 13:
        return f"{', '.join(shown[:12])} or one of {len(shown) - 12} others"
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
