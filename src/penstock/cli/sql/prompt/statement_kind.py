"""Cut a text into statements, and say what the prompt does with each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from penstock.model.sql.errors import ParseError, SqlError
from penstock.sql.syntax.lexer import Lexeme, SourceText, check_variable_name, scan, split


class Kind(Enum):
    """Who handles a statement: the session itself, or one of the server's routes."""

    QUERY = "query"
    PRINT = "print"
    SET = "set"
    UNSET = "unset"
    DEFINE = "define"
    UNDEFINE = "undefine"
    RUN_SCRIPT = "run script"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as it was typed, with its semicolon, and the line that it begins on."""

    text: str
    kind: Kind
    line: int = 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """What SET, UNSET, DEFINE or UNDEFINE names, and the value if there is one."""

    name: str
    value: str = ""


_FIRST_WORDS = {
    "SELECT": Kind.QUERY,
    "PRINT": Kind.PRINT,
    "SET": Kind.SET,
    "UNSET": Kind.UNSET,
    "DEFINE": Kind.DEFINE,
    "UNDEFINE": Kind.UNDEFINE,
}


def statements(script: str) -> list[Statement]:
    """Return the statements of a script; the last one may lack its semicolon.

    Raises:
        ParseError: a text or a comment does not end.
    """
    source = SourceText(script)
    try:
        pieces = list(split(source))
    except SqlError as error:
        raise error.with_source(script) from None
    found = []
    for start, end in pieces:
        text = script[start:end]
        found.append(Statement(f"{text};", kind_of(text), source.span(start, end).line))
    return found


def is_complete(text: str) -> bool:
    """Return whether the last statement of a text has its semicolon.

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1 -- ;")
    (True, False, False)
    """
    try:
        found = list(scan(SourceText(text)))
    except SqlError as error:
        # Only an unclosed text may continue in the next line. The server reports other errors.
        return error.code != "unclosed-text" and text.rstrip().endswith(";")
    return bool(found) and found[-1].kind == "PUNCTUATION" and found[-1].value == ";"


def kind_of(text: str) -> Kind:
    """Return who handles a statement, by its first words."""
    words = _first_words(text)
    if words[:2] == ["RUN", "SCRIPT"]:
        return Kind.RUN_SCRIPT
    return _FIRST_WORDS.get(words[0], Kind.STATEMENT) if words else Kind.STATEMENT


def is_push(text: str) -> bool:
    """Return whether a SELECT has no end of its own: it has EMIT CHANGES or EMIT FINAL.

    >>> is_push("SELECT * FROM orders EMIT CHANGES LIMIT 2;"), is_push("SELECT * FROM orders;")
    (True, False)
    """
    words = [lexeme.value for lexeme in scan(SourceText(text)) if lexeme.kind == "WORD"]
    return any(pair in (("EMIT", "CHANGES"), ("EMIT", "FINAL")) for pair in pairwise(words))


def _first_words(text: str) -> list[str]:
    words: list[str] = []
    try:
        for lexeme in scan(SourceText(text)):
            if lexeme.kind != "WORD" or len(words) == 2:
                break
            words.append(lexeme.value)
    except SqlError:
        # The server says what is wrong with the rest.
        pass
    return words


def assignment(text: str, variables: Mapping[str, str]) -> Assignment:
    """Return what ``SET 'name'='value'``, ``DEFINE name = 'value'`` and their opposites name.

    Raises:
        ParseError: the statement has another form.
    """
    known = {name.upper(): value for name, value in variables.items()}
    try:
        lexemes = list(scan(SourceText(text), known))
    except SqlError as error:
        raise error.with_source(text) from None
    word, *rest = [each for each in lexemes if each.value != ";" or each.kind == "STRING"]
    has_value = word.value in ("SET", "DEFINE")
    if has_value and len(rest) == 3 and rest[1].value == "=" and _is_name(rest[0], word.value):
        if word.value == "DEFINE":
            check_variable_name(_name(rest[0]), rest[0].span)
        return Assignment(_name(rest[0]), rest[2].value)
    if not has_value and len(rest) == 1 and _is_name(rest[0], word.value):
        return Assignment(_name(rest[0]))
    raise ParseError("bad-assignment", _FORMS[word.value], span=word.span, source=text)


def script_path(text: str) -> str:
    """Return the file that RUN SCRIPT names, with or without quotes."""
    path = text.strip().rstrip(";").split(None, 2)[2:]
    if not path:
        raise ParseError("no-script", "RUN SCRIPT needs a file: RUN SCRIPT 'orders.sql';")
    return path[0].strip().strip("'\"")


_FORMS = {
    "SET": "SET has the form SET 'property' = 'value';",
    "UNSET": "UNSET has the form UNSET 'property';",
    "DEFINE": "DEFINE has the form DEFINE name = 'value';",
    "UNDEFINE": "UNDEFINE has the form UNDEFINE name;",
}


def _is_name(lexeme: Lexeme, word: str) -> bool:
    wanted = ("STRING",) if word in ("SET", "UNSET") else ("WORD", "QUOTED")
    return lexeme.kind in wanted


def _name(lexeme: Lexeme) -> str:
    return lexeme.written or lexeme.value
