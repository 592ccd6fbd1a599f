"""Text to tokens. The grammar lists the keywords; this module decides which words are names.

A word that is not reserved is a keyword only where the grammar allows that keyword.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lark.lexer import Lexer, Token

from penstock.model.sql.errors import ParseError, did_you_mean
from penstock.model.sql.span import Span
from penstock.model.sql.variable_names import is_variable_name

# Words that must be quoted to name a column or a source.
_RESERVED_WORDS = """
    SELECT FROM AS WHERE WITHIN WINDOW GROUP BY HAVING LIMIT OR AND IN NOT BETWEEN LIKE IS NULL
    TRUE FALSE CASE WHEN THEN ELSE END JOIN FULL OUTER INNER LEFT RIGHT ON WITH VALUES CREATE
    STREAM TABLE INSERT INTO CAST DISTINCT EXISTS DROP DELETE
"""
RESERVED = frozenset(_RESERVED_WORDS.split())

# Where a keyword and a name are both possible, the word is a keyword only before one of these.
_KEYWORD_BEFORE: dict[str, frozenset[str]] = {
    "ARRAY": frozenset("[<"),
    "MAP": frozenset("(<"),
    "STRUCT": frozenset(("(", "<", "<>")),
    "EMIT": frozenset(("CHANGES", "FINAL")),
    "PARTITION": frozenset(("BY",)),
    "ORDER": frozenset(("BY",)),
    "AT": frozenset(("TIME",)),
    "OVER": frozenset("("),
    "FILTER": frozenset("("),
    "FOR": frozenset(("SYSTEM_TIME",)),
    "UNION": frozenset(("ALL",)),
    "IF": frozenset(("NOT", "EXISTS")),
}
# The same for words before a number or a text.
_KEYWORD_BEFORE_KIND: dict[str, frozenset[str]] = {
    "INTERVAL": frozenset(("STRING", "INTEGER")),
    "OFFSET": frozenset(("INTEGER",)),
}

#: The AS of ``AS OF CUT``: another terminal than that of an alias, for one token of lookahead.
CUT_AS = "CUT_AS"

_TOKEN = re.compile(
    r"""
    (?P<SKIP> \s+ | --[^\n]* | /\*.*?\*/ )
  | (?P<FLOAT> (?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+(?![A-Za-z0-9_@]) )
  | (?P<DECIMAL> \d+\.\d*|\.\d+ )
  | (?P<INTEGER> \d+(?![A-Za-z0-9_@]) )
  | (?P<WORD> (?:[^\W]|@|\$\{[\w@]+\})+ )
  | (?P<STRING> '(?:[^']|'')*+' )
  | (?P<BODY> \$\$.*?\$\$ )
  | (?P<QUOTED> `(?:[^`]|``)*+` | "(?:[^"]|"")*+" )
  | (?P<PUNCTUATION> <>|!=|<=|>=|\|\||::|:=|->|=>|/(?!\*)|[-+*%=<>()\[\].,;] )
    """,
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"\$(\$?)\{([\w@]+)\}")
_MAX_NESTING = 100
#: A statement of this length takes seconds to plan. A long text between quotes is one token.
MOST_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token before the lexer has decided whether its word is a keyword.

    ``kind`` is WORD, QUOTED, STRING, INTEGER, DECIMAL, FLOAT or PUNCTUATION; ``value`` has its
    quotes removed, and a word is in upper case. ``written`` is the word in its original case, for
    names of topics; None if it equals the value.
    """

    kind: str
    value: str
    span: Span
    written: str | None = None


class SourceText:
    """The text of a script, with the line and column of every offset in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]

    def span(self, start: int, end: int) -> Span:
        line = bisect_right(self._starts, start)
        return Span(start, end, line, start - self._starts[line - 1] + 1)


def scan(
    source: SourceText,
    variables: Mapping[str, str] | None = None,
    start: int = 0,
    end: int | None = None,
) -> Iterator[Lexeme]:
    """Yield the lexemes of a text, or of the part from ``start`` to ``end``.

    ``${name}`` is replaced.

    Without ``variables``, nothing is replaced: a script is first cut into statements, because a
    statement can define variables for the next one.
    """
    text, position = source.text, start
    last = len(text) if end is None else end
    while position < last:
        match = _TOKEN.match(text, position, last)
        if match is None:
            raise _unreadable(source, position)
        position = match.end()
        kind = match.lastgroup or ""
        if kind != "SKIP":
            yield _lexeme(kind, match[0], source.span(match.start(), match.end()), variables)


def split(source: SourceText) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement, without its semicolon; skip empty ones."""
    text, position, tokens = source.text, 0, 0
    start: int | None = None
    end = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(source, position)
        begin, position = match.span()
        if match.lastgroup == "SKIP":
            continue
        if text[begin] == ";":
            if start is not None:
                yield start, end
            start, tokens = None, 0
            continue
        if start is None:
            start = begin
        end, tokens = position, tokens + 1
        if tokens > MOST_TOKENS:
            raise ParseError(
                "statement-too-long",
                f"a statement has more than {MOST_TOKENS} words and signs",
                fix="cut it into several statements",
                span=source.span(begin, position),
            )
    if start is not None:
        yield start, end


def check_variable_name(name: str, span: Span | None = None) -> None:
    """Refuse a name that ksqlDB does not let a variable have."""
    if not is_variable_name(name):
        raise ParseError(
            "bad-variable-name",
            f"a variable cannot be called {name!r}",
            fix="begin with a letter or _, and go on with letters, digits, _ and @",
            span=span,
        )


def _lexeme(kind: str, text: str, span: Span, variables: Mapping[str, str] | None) -> Lexeme:
    if kind == "STRING":
        return Lexeme(kind, _substitute(text[1:-1].replace("''", "'"), variables), span)
    if kind == "BODY":
        # The body is code of another language: quotes and variables have no meaning in it.
        return Lexeme("STRING", text[2:-2], span)
    if kind == "QUOTED":
        quote = text[0]
        return Lexeme(kind, _substitute(text[1:-1].replace(quote * 2, quote), variables), span)
    if kind == "WORD":
        return _word(text, span, variables)
    return Lexeme(kind, text, span)


def _word(text: str, span: Span, variables: Mapping[str, str] | None) -> Lexeme:
    if "${" not in text:
        return Lexeme("WORD", text.upper(), span, text)
    if variables is None:
        return Lexeme("WORD", text, span)
    value = _substitute(text, variables)
    if "${" in value:
        raise _undefined(value, span, variables)
    inner = list(scan(SourceText(value)))
    if len(inner) != 1 or inner[0].kind == "PUNCTUATION":
        raise ParseError(
            "bad-variable-value",
            f"variable {text} stands for {value!r}, which is not one name or one literal",
            fix="define a name, a number, or text with its own quotes",
            span=span,
        )
    return Lexeme(inner[0].kind, inner[0].value, span, inner[0].written)


def _substitute(text: str, variables: Mapping[str, str] | None) -> str:
    if variables is None or "${" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        # A second dollar escapes the reference: it stays, without that dollar.
        if match[1]:
            return match[0][1:]
        # Names of variables ignore case; an undefined one stays as written.
        return variables.get(match[2].upper(), match[0])

    return _VARIABLE.sub(value, text)


def _undefined(text: str, span: Span, variables: Mapping[str, str]) -> ParseError:
    found = _VARIABLE.search(text)
    name = found[2] if found else text
    return ParseError(
        "undefined-variable",
        f"variable {name!r} is not defined",
        fix=did_you_mean(name, variables) or f"DEFINE {name} = '...' before this statement",
        span=span,
    )


def _unreadable(source: SourceText, position: int) -> ParseError:
    text = source.text
    names = {"'": "string", "`": "quoted identifier", '"': "quoted identifier"}
    two = {"/*": "comment", "$$": "text between $$ and $$"}
    opened = names.get(text[position]) or two.get(text[position : position + 2])
    if opened:
        return ParseError(
            "unclosed-text",
            f"a {opened} starts here and does not end",
            span=source.span(position, position + 1),
        )
    return ParseError(
        "bad-character",
        f"character {text[position]!r} has no meaning here",
        span=source.span(position, position + 1),
    )


class GrammarLexer(Lexer):
    """Passes lexemes to the parser, and decides for each word whether it is a keyword or a name.

    Lark's parser state knows which tokens can come next. It decides about words that are not
    reserved.
    """

    __future_interface__ = 2

    def __init__(self, conf: Any) -> None:
        self._names: dict[str, str] = {
            terminal.pattern.value: terminal.name
            for terminal in conf.terminals
            if terminal.pattern is not None
        }

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        lexemes: Sequence[Lexeme] = lexer_state.text
        nesting = 0
        for i, lexeme in enumerate(lexemes):
            nesting += (lexeme.value in "([<") - (lexeme.value in ")]>")
            if nesting > _MAX_NESTING and lexeme.kind == "PUNCTUATION":
                raise ParseError(
                    "nested-too-deeply",
                    f"more than {_MAX_NESTING} brackets are open at once",
                    span=lexeme.span,
                )
            token = _token(self._kind(lexemes, i, parser_state), lexeme)
            # If the text ends too soon, the error names the last token.
            lexer_state.last_token = token
            yield token

    def _kind(self, lexemes: Sequence[Lexeme], i: int, parser_state: Any) -> str:
        lexeme = lexemes[i]
        match lexeme.kind:
            case "PUNCTUATION":
                if lexeme.value == "(" and _opens_lambda(lexemes, i):
                    return "LAMBDA_OPEN"
                return self._names.get(lexeme.value, "UNKNOWN")
            case "WORD":
                return self._word_kind(lexemes, i, parser_state)
            case "QUOTED":
                return "IDENT"
            case kind:
                return kind

    def _word_kind(self, lexemes: Sequence[Lexeme], i: int, parser_state: Any) -> str:
        word = lexemes[i].value
        if word == "AS" and _begins_cut(lexemes, i) and accepts(parser_state, CUT_AS):
            return CUT_AS
        keyword = self._names.get(word)
        if keyword is None:
            return "IDENT"
        if word in RESERVED:
            return keyword
        if not accepts(parser_state, keyword):
            return "IDENT"
        if _is_name(word, lexemes[i + 1 : i + 2]) and accepts(parser_state, "IDENT"):
            return "IDENT"
        return keyword


def _begins_cut(lexemes: Sequence[Lexeme], i: int) -> bool:
    """Return whether AS begins ``AS OF CUT``, and not an alias."""
    return [each.value for each in lexemes[i + 1 : i + 3]] == ["OF", "CUT"]


def _is_name(word: str, after: Sequence[Lexeme]) -> bool:
    """Return whether a word that could be a keyword is a name; the next word decides."""
    if word in _KEYWORD_BEFORE:
        return not after or after[0].value not in _KEYWORD_BEFORE[word]
    if word in _KEYWORD_BEFORE_KIND:
        return not after or after[0].kind not in _KEYWORD_BEFORE_KIND[word]
    return False


def accepts(parser_state: Any, terminal: str) -> bool:
    """Return whether the parser accepts this terminal next, by simulating its reductions.

    The table of the state is not enough: LALR merges states, so it also lists terminals that are
    valid only in another context.
    """
    conf, end = parser_state.parse_conf, len(parser_state.state_stack)
    table = conf.states
    stack = list(parser_state.state_stack)
    for _ in range(end + 200):
        if terminal == "$END" and stack[-1] == conf.end_state:
            return True
        step = table[stack[-1]].get(terminal)
        if step is None:
            return False
        action, argument = step
        if action.name == "Shift":
            return True
        if argument.expansion:
            del stack[-len(argument.expansion) :]
        stack.append(table[stack[-1]][argument.origin.name][1])
    return False


def _opens_lambda(lexemes: Sequence[Lexeme], i: int) -> bool:
    """Return whether the bracket at ``i`` opens the parameters of a lambda: ``(x, y) =>``."""
    i += 1
    while i + 2 < len(lexemes) and lexemes[i].kind in ("WORD", "QUOTED"):
        after = lexemes[i + 1].value
        if after == ")":
            return lexemes[i + 2].value == "=>"
        if after != ",":
            return False
        i += 2
    return False


def _token(kind: str, lexeme: Lexeme) -> Token:
    span = lexeme.span
    token = Token(
        kind,
        lexeme.value,
        start_pos=span.start,
        line=span.line,
        column=span.column,
        end_pos=span.end,
        end_line=span.line,
        end_column=span.column + span.end - span.start,
    )
    # A token is text in upper case; its ``value`` keeps what was written.
    token.value = lexeme.value if lexeme.written is None else lexeme.written
    return token
