"""Colours of a statement while it is typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

_PIECE = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<string> '(?:[^']|'')*(?:'|\Z) )
  | (?P<name> `(?:[^`]|``)*(?:`|\Z) | "[^"]*(?:"|\Z) )
  | (?P<variable> \$\{\w*\}? )
  | (?P<number> \b\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b )
  | (?P<call> [^\W\d]\w*(?=\s*\() )
  | (?P<word> [^\W\d]\w* )
  | (?P<other> \s+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)

STYLE = Style.from_dict(
    {
        "sql.keyword": "bold ansiblue",
        "sql.string": "ansigreen",
        "sql.number": "ansicyan",
        "sql.comment": "italic ansibrightblack",
        "sql.function": "ansimagenta",
        "sql.variable": "ansiyellow",
        "sql.name": "ansicyan",
        "prompt": "bold",
        "prompt.more": "ansibrightblack",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


class SqlHighlighter(Lexer):
    """Colour keywords, texts, numbers, comments, variables and the names of functions."""

    def __init__(
        self, keywords: Callable[[], Iterable[str]], functions: Callable[[], Iterable[str]]
    ) -> None:
        self._keywords = keywords
        self._functions = functions

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return the function from the number of a line to its coloured pieces."""
        lines: list[StyleAndTextTuples] = [[]]
        keywords, functions = frozenset(self._keywords()), frozenset(self._functions())
        for piece in _PIECE.finditer(document.text):
            style = _style(piece.lastgroup or "", piece[0].upper(), keywords, functions)
            first, *more = piece[0].split("\n")
            lines[-1].append((style, first))
            for text in more:
                lines.append([(style, text)])
        return lambda number: lines[number] if number < len(lines) else []


def _style(kind: str, word: str, keywords: frozenset[str], functions: frozenset[str]) -> str:
    match kind:
        case "comment" | "string" | "number" | "variable" | "name":
            return f"class:sql.{kind}"
        case "call" if word in functions:
            return "class:sql.function"
        case "call" | "word" if word in keywords:
            return "class:sql.keyword"
        case _:
            return ""
