"""Completion of keywords, sources, columns, functions and everything else with a name.

The offers depend on the words before the cursor. Columns come from the sources that the statement
names, before and after the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from penstock.cli.sql.prompt.catalog_words import CatalogWords

_WORD = re.compile(r"[\w@.]*\Z|`[^`]*\Z")
_TOKEN = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|`[^`]*`|[\w@]+|\S", re.DOTALL)
_OPEN_TEXT = re.compile(r"\A(?:[^']|'[^']*')*'([^']*)\Z", re.DOTALL)
_PLAIN = re.compile(r"[A-Z_][A-Z0-9_]*\Z")

#: Words after which only a source can stand.
_BEFORE_SOURCE = frozenset({"FROM", "JOIN", "INTO", "DESCRIBE"})
#: Words and signs after which a column can stand.
_BEFORE_COLUMN = frozenset(
    {
        "SELECT", "WHERE", "AND", "OR", "NOT", "ON", "BY", "HAVING", "CASE", "WHEN", "THEN", "ELSE",
        "DISTINCT", "BETWEEN", "LIKE", "IN", "(", ",", "=", "<", ">", "+", "-", "*", "/",
    }
)  # fmt: skip
_AFTER_SHOW = (
    "ALL TOPICS", "CONNECTOR PLUGINS", "CONNECTORS", "FUNCTIONS", "PROPERTIES", "QUERIES",
    "QUERIES EXTENDED", "SINK CONNECTORS", "SOURCE CONNECTORS", "STREAMS", "STREAMS EXTENDED",
    "TABLES", "TABLES EXTENDED", "TOPICS", "TOPICS EXTENDED", "TYPES", "VARIABLES",
)  # fmt: skip
#: Phrases that are written together more often than not.
_PHRASES = (
    "CREATE STREAM", "CREATE TABLE", "CREATE OR REPLACE STREAM", "CREATE OR REPLACE TABLE",
    "CREATE SOURCE CONNECTOR", "CREATE SINK CONNECTOR", "CREATE TYPE", "DROP STREAM",
    "DROP TABLE", "DROP CONNECTOR", "DROP TYPE", "INSERT INTO", "GROUP BY", "PARTITION BY",
    "EMIT CHANGES", "EMIT FINAL", "LEFT JOIN", "FULL OUTER JOIN", "INNER JOIN",
    "WINDOW TUMBLING", "WINDOW HOPPING", "WINDOW SESSION", "AS OF CUT", "AS OF CUT LATEST",
    "RUN SCRIPT", "PRINT", "FROM BEGINNING",
)  # fmt: skip
_STATEMENT_WORDS = frozenset(
    {
        "ALTER", "ASSERT", "CREATE", "DEFINE", "DESCRIBE", "DROP", "EXPLAIN", "INSERT", "LIST",
        "PAUSE", "PRINT", "RESUME", "RUN", "SELECT", "SET", "SHOW", "TERMINATE", "UNDEFINE",
        "UNSET",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Offer:
    """A word that can be completed, what it is, and how near the front it is shown."""

    text: str
    meta: str
    rank: int = 0


class SqlCompleter(Completer):
    """Offer what can stand at the cursor, prefixes before names that only contain the letters."""

    def __init__(
        self,
        catalog: Callable[[], CatalogWords],
        keywords: Callable[[], Iterable[str]],
        commands: Sequence[str] = (),
    ) -> None:
        self._catalog = catalog
        self._keywords = keywords
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield completions for the word before the cursor."""
        before = _last_statement(document.text_before_cursor)
        opened = _OPEN_TEXT.match(before)
        if opened is not None:
            yield from _matching(opened[1], self._in_quotes(before))
            return
        found = _WORD.search(before)
        word = found[0] if found else ""
        if not word and not complete_event.completion_requested and before.strip():
            return
        owner, dot, rest = word.rpartition(".")
        sources = _sources_of(before + document.text_after_cursor, self._catalog())
        if dot:
            columns = sources.get(owner.upper(), {})
            yield from _matching(rest, (Offer(_quoted(n), t) for n, t in columns.items()))
            return
        tokens = _tokens(before[: len(before) - len(word)])
        yield from _matching(word, self._offers(tokens, sources))

    def _in_quotes(self, before: str) -> Iterable[Offer]:
        tokens = _tokens(before[: before.rindex("'")])
        words = self._catalog()
        if tokens and tokens[-1].upper() in ("SET", "UNSET"):
            return [Offer(name, "property") for name in words.properties]
        if tokens[-2:-1] and tokens[-2].upper() == "KAFKA_TOPIC":
            return [Offer(name, "topic") for name in words.topics]
        return ()

    def _offers(
        self, tokens: Sequence[str], sources: Mapping[str, Mapping[str, str]]
    ) -> Iterable[Offer]:
        catalog = self._catalog()
        last = tokens[-1].upper() if tokens else ""
        before_last = tokens[-2].upper() if len(tokens) > 1 else ""
        named = self._named(catalog, before_last, last)
        if named is not None:
            return named
        if not tokens:
            return self._beginnings()
        offers = [Offer(word, "keyword", 2) for word in self._keywords()]
        offers += [Offer(phrase, "keyword", 2) for phrase in _PHRASES]
        offers += [Offer(f"{name}(", kind, 1) for name, kind in catalog.functions.items()]
        if last in _BEFORE_COLUMN:
            for name, columns in sources.items():
                offers += [Offer(_quoted(c), f"{t} of {name}") for c, t in columns.items()]
        offers += [Offer(_quoted(name), kind, 3) for name, kind in _all_sources(catalog)]
        return offers

    def _named(self, catalog: CatalogWords, before_last: str, last: str) -> list[Offer] | None:
        """Return all that can follow the words before the cursor; None if there is no such list."""
        every = [Offer(_quoted(name), kind) for name, kind in _all_sources(catalog)]
        match before_last, last:
            case _, "SHOW" | "LIST":
                return [Offer(text, "list") for text in _AFTER_SHOW]
            case "DESCRIBE", "FUNCTION":
                return [Offer(name, kind) for name, kind in catalog.functions.items()]
            case _, "CONNECTOR" if before_last in ("DESCRIBE", "DROP"):
                return [Offer(_quoted(name), "connector") for name in catalog.connectors]
            case "DROP" | "ALTER" | "ASSERT", "STREAM" | "TABLE":
                return [offer for offer in every if offer.meta == last.lower()]
            case _, "DESCRIBE":
                words = [Offer(word, "keyword", 1) for word in ("FUNCTION", "CONNECTOR")]
                return every + words
            case _, "PRINT":
                return [Offer(_quoted(name), "topic") for name in catalog.topics]
            case _, "TERMINATE" | "PAUSE" | "RESUME":
                return [*(Offer(name, "query") for name in catalog.queries), Offer("ALL", "all")]
            case _, "EXPLAIN":
                return [*(Offer(name, "query") for name in catalog.queries), Offer("SELECT", "")]
            case _, word if word in _BEFORE_SOURCE:
                return every
            case _:
                return None

    def _beginnings(self) -> list[Offer]:
        known = [Offer(word, "statement") for word in sorted(_STATEMENT_WORDS)]
        phrases = [Offer(p, "statement", 1) for p in _PHRASES if p.split()[0] in _STATEMENT_WORDS]
        return [*known, *phrases, *(Offer(name, "command", 2) for name in self._commands)]


def _all_sources(catalog: CatalogWords) -> list[tuple[str, str]]:
    streams = [(name, "stream") for name in catalog.streams]
    return streams + [(name, "table") for name in catalog.tables]


def _matching(word: str, offers: Iterable[Offer]) -> Iterator[Completion]:
    """Yield what fits a word: prefixes first, then names with the same letters in order."""
    wanted = word.strip("`").lower()
    found = []
    seen: set[str] = set()
    for offer in offers:
        text = offer.text.strip("`").lower()
        if offer.text in seen:
            continue
        if text.startswith(wanted):
            found.append((0, offer.rank, len(text), text, offer))
        elif len(wanted) > 1 and _is_near(wanted, text, offer.meta):
            found.append((1, offer.rank, len(text), text, offer))
        else:
            continue
        seen.add(offer.text)
    for *_, offer in sorted(found, key=lambda each: each[:4]):
        text = offer.text
        # A user who types in lower case gets lower case; SQL ignores the case of names.
        if word.islower() and "`" not in text and offer.meta != "property":
            text = text.lower()
        yield Completion(text, start_position=-len(word), display_meta=offer.meta)


def _is_near(wanted: str, text: str, meta: str) -> bool:
    """Return whether a name has the letters: in order, for a function side by side.

    A keyword matches only by its beginning; otherwise keywords would hide names.
    """
    if meta in _WORDS:
        return False
    if meta.endswith(" function"):
        return wanted in text
    letters = iter(text)
    return all(letter in letters for letter in wanted)


_WORDS = ("keyword", "statement", "command", "list", "")


def _quoted(name: str) -> str:
    return name if _PLAIN.match(name) else f"`{name}`"


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if not token.startswith(("--", "/*"))]


def _last_statement(text: str) -> str:
    """Return the text after the last semicolon that ends a statement."""
    end = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            end = found.end()
    return text[end:]


def _sources_of(text: str, catalog: CatalogWords) -> dict[str, Mapping[str, str]]:
    """Return the columns of the sources that a statement names, by name and by alias."""
    known = catalog.sources
    tokens = [token.strip("`") if "`" in token else token.upper() for token in _tokens(text)]
    found: dict[str, Mapping[str, str]] = {}
    for i, token in enumerate(tokens):
        if token not in ("FROM", "JOIN", "INTO", ",") or i + 1 == len(tokens):
            continue
        columns = known.get(tokens[i + 1])
        if columns is None:
            continue
        alias = _alias(tokens[i + 2 : i + 4])
        found[alias or tokens[i + 1]] = columns
    return found


def _alias(after: Sequence[str]) -> str | None:
    if after[:1] == ["AS"]:
        return after[1] if len(after) > 1 else None
    if after and re.fullmatch(r"\w+", after[0]) and after[0] not in _NO_ALIAS:
        return after[0]
    return None


_NO_ALIAS = frozenset(
    {
        "EMIT", "FULL", "GROUP", "HAVING", "INNER", "JOIN", "LEFT", "LIMIT", "ON", "OUTER",
        "PARTITION", "RIGHT", "SELECT", "VALUES", "WHERE", "WINDOW", "WITHIN", "UNION",
    }
)  # fmt: skip
