"""Constructs of other SQL dialects that are not supported here, each with an alternative.

The parser looks here if a statement does not parse. So the error for ``INTERSECT`` is a sentence
about INTERSECT, not a list of the tokens that are allowed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from penstock.model.sql.errors import ParseError
from penstock.sql.syntax.lexer import Lexeme

#: Stands for any one word or sign in a pattern.
_ANY = "*"
#: How many tokens after a clause the parser may fail for the clause to be the cause. After a single
#: word it must fail at that word or at the next one, because columns can have such names.
_REACH = 3


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One construct: its pattern, the alternative, and its name if it differs from the pattern."""

    #: None if the pattern is also the name.
    name: str | None
    patterns: tuple[tuple[str, ...], ...]
    instead: str


def _statement(names: str, instead: str) -> Unsupported:
    return Unsupported(None, tuple(tuple(each.split()) for each in names.split(", ")), instead)


def _clause(name: str, patterns: str, instead: str) -> Unsupported:
    return Unsupported(name, tuple(tuple(each.split()) for each in patterns.split(" | ")), instead)


_REPLACE_ROW = "INSERT INTO the table with the same key: the new row replaces the old one"
_FOLLOW = "use CREATE STREAM or CREATE TABLE ... AS SELECT, which is kept up to date"
_CATALOG = "there is one catalog: put the name in front of those of your streams and tables"

_STATEMENTS = (
    _statement("UPDATE, UPSERT", _REPLACE_ROW),
    _statement("MERGE, REPLACE INTO", _REPLACE_ROW),
    _statement("TRUNCATE", "DROP it with DELETE TOPIC, then create it again"),
    _statement("GRANT, REVOKE, CREATE USER, CREATE ROLE", "use Kafka's ACLs for permissions"),
    _statement(
        "BEGIN, START TRANSACTION, COMMIT, ROLLBACK",
        "leave it out: a script is accepted as a whole or not at all, and queries run exactly once",
    ),
    _statement("CREATE DATABASE, CREATE SCHEMA, USE, DROP DATABASE, DROP SCHEMA", _CATALOG),
    _statement(
        "CREATE INDEX, CREATE UNIQUE INDEX, DROP INDEX",
        "a table is found by its key: make one with the column as key, CREATE TABLE ... AS"
        " SELECT ... GROUP BY that column",
    ),
    _statement("CREATE VIEW, CREATE OR REPLACE VIEW, DROP VIEW", _FOLLOW),
    _statement("CREATE MATERIALIZED VIEW, DROP MATERIALIZED VIEW", _FOLLOW),
    _statement("CREATE TEMPORARY, CREATE TEMP", "use WITH name AS (SELECT ...) inside the query"),
    _statement("COPY, LOAD DATA, EXPORT, IMPORT", "write files to topics with penstock produce"),
    _statement("ANALYZE, VACUUM, OPTIMIZE", "leave it out: there are no statistics to keep"),
    _statement("CALL, PREPARE, DECLARE", "use DEFINE for variables and @udf for functions"),
    _statement("WITH RECURSIVE", "compute the steps in a program of the DSL, with a processor"),
    _statement(
        "ALTER STREAM * DROP, ALTER TABLE * DROP, ALTER STREAM * RENAME, ALTER TABLE * RENAME,"
        " ALTER STREAM * ALTER, ALTER TABLE * ALTER, ALTER STREAM * MODIFY, ALTER TABLE * MODIFY",
        "ALTER only adds columns: create a new stream or table over the topic, or use"
        " CREATE OR REPLACE ... AS SELECT",
    ),
)  # fmt: skip

_BEFORE_CUT = ("WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "EMIT", "LIMIT", "OFFSET", "JOIN")
_CLAUSES = (
    _clause("UNION without ALL", "UNION SELECT | UNION DISTINCT | UNION (",
            "write UNION ALL, and SELECT DISTINCT over it where rows may come only once"),
    _clause("INTERSECT", "INTERSECT SELECT | INTERSECT ALL | INTERSECT (",
            "write WHERE column IN (SELECT ...), or INNER JOIN the two on their keys"),
    _clause("EXCEPT", "EXCEPT SELECT | EXCEPT ALL | EXCEPT ( | MINUS SELECT",
            "write WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.column = s.column)"),
    _clause("a frame in OVER", "ROWS BETWEEN | RANGE BETWEEN | ROWS UNBOUNDED | RANGE UNBOUNDED",
            "aggregate with GROUP BY and WINDOW, then join the result"),
    _clause("QUALIFY", "QUALIFY *", "put the query into FROM ( ... ) and filter it with WHERE"),
    _clause("WITHIN GROUP", "WITHIN GROUP", "collect the values with COLLECT_LIST and sort them"),
    _clause("CROSS JOIN", "CROSS JOIN", "join ON an equality; for lists use EXPLODE in SELECT"),
    _clause("NATURAL JOIN", "NATURAL JOIN | NATURAL LEFT | NATURAL INNER",
            "name the columns: JOIN ... ON a.x = b.x"),
    _clause("USING", "USING (", "name the columns: JOIN ... ON a.x = b.x"),
    _clause("LATERAL", "LATERAL ( | LATERAL VIEW | UNNEST (", "use EXPLODE(list) in SELECT"),
    _clause("TABLESAMPLE", "TABLESAMPLE * | TABLESAMPLE (", "filter with WHERE RANDOM() < 0.1"),
    _clause("FETCH", "FETCH FIRST | FETCH NEXT", "use LIMIT"),
    _clause("DISTINCT ON", "DISTINCT ON", "GROUP BY the columns, LATEST_BY_OFFSET(other)"),
    _clause("FOR UPDATE", "FOR UPDATE | FOR SHARE", "leave it out: queries lock nothing"),
    _clause("FOR SYSTEM_TIME without AS OF", "FOR SYSTEM_TIME BETWEEN | FOR SYSTEM_TIME FROM",
            "write FOR SYSTEM_TIME AS OF PROCTIME(), or leave it out"),
    _clause("AS OF CUT before the end of a query",
            " | ".join(f"AS OF CUT * {word}" for word in _BEFORE_CUT),
            "write AS OF CUT behind everything else"),
    _clause("AS OF", "AS OF", "write AS OF CUT n at the end of a pull query, or filter by ROWTIME"),
    _clause("ILIKE", "ILIKE *", "write LCASE(text) LIKE 'pattern'"),
    _clause("SIMILAR TO", "SIMILAR TO | RLIKE * | REGEXP *",
            "write REGEXP_EXTRACT('pattern', text) IS NOT NULL"),
    _clause("ANY or ALL of a query", "ANY ( SELECT | ALL ( SELECT",
            "write IN (SELECT ...), or JOIN the table that the inner query would read"),
    _clause("EXTRACT ... FROM", "EXTRACT ( * FROM", "use FORMAT_TIMESTAMP(time, 'yyyy')"),
    _clause("PIVOT", "PIVOT ( | UNPIVOT (", "use CASE in aggregates, or EXPLODE"),
    _clause("MATCH_RECOGNIZE", "MATCH_RECOGNIZE (", "write a processor in a program of the DSL"),
)  # fmt: skip

#: How far behind the start of a construct the parser may fail at most.
_FARTHEST = max(len(pattern) for each in _CLAUSES for pattern in each.patterns) + _REACH


def unsupported_error(
    lexemes: Sequence[Lexeme], failed: int, keywords: Set[str] = frozenset()
) -> ParseError | None:
    """Return the error for a known construct at or just before the lexeme that did not parse.

    ``failed`` is the index of that lexeme, or the number of lexemes if the text ends too soon.
    ``keywords`` are the keywords of the grammar. If a construct consists of them, and the parser
    got past it, the construct is supported, and the error is in the text after it.
    """
    for each in _STATEMENTS:
        for pattern in each.patterns:
            if _matches(lexemes, 0, pattern):
                name = " ".join("..." if word == _ANY else word for word in pattern)
                return _error(name, each, lexemes[0])
    last = min(failed, len(lexemes) - 1)
    for start in range(last, max(-1, failed - _FARTHEST - 1), -1):
        for each in _clauses_at(lexemes, start, failed, keywords):
            return _error(each.name, each, _named(lexemes, start))
    return None


def _clauses_at(
    lexemes: Sequence[Lexeme], start: int, failed: int, keywords: Set[str]
) -> Iterator[Unsupported]:
    for each in _CLAUSES:
        for pattern in each.patterns:
            if failed <= start + _reach(pattern, keywords) and _matches(lexemes, start, pattern):
                yield each


def _reach(pattern: tuple[str, ...], keywords: Set[str]) -> int:
    """Return how many lexemes after the start of a construct the parser may have failed."""
    if all(word in keywords for word in pattern if word.isalpha()):
        return max(place for place, word in enumerate(pattern) if word != _ANY)
    return len(pattern) + _REACH if pattern[-1] != _ANY else 1


def _named(lexemes: Sequence[Lexeme], start: int) -> Lexeme:
    """Return the first word of a match: a bracket before it only makes the pattern unambiguous."""
    found = lexemes[start : start + 2]
    return next((each for each in found if each.kind == "WORD"), found[0])


def _matches(lexemes: Sequence[Lexeme], start: int, pattern: tuple[str, ...]) -> bool:
    if start + len(pattern) > len(lexemes):
        return False
    return all(
        word == _ANY or (lexeme.value == word and lexeme.kind in ("WORD", "PUNCTUATION"))
        for word, lexeme in zip(pattern, lexemes[start : start + len(pattern)], strict=True)
    )


def _error(name: str | None, found: Unsupported, at: Lexeme) -> ParseError:
    return ParseError("not-supported", f"{name} is not supported", fix=found.instead, span=at.span)
