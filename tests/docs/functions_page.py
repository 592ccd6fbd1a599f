"""The reference page of SQL functions, from the registry; the engine evaluates every example."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

from penstock.sql import SqlEngine
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.registry import Function, FunctionRegistry
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "sql" / "functions.md"
EXAMPLES = Path(__file__).parent / "functions.toml"
INTRODUCTION = """\
# Functions

Every function that SQL has, with what it takes and an example. The results on this page are what
the engine answers: `make docs` evaluates every example, and a test compares. Functions of your
own: [Functions in Python](python_functions.md).

A scalar function with a NULL argument is NULL, unless its description says otherwise. A function
that fails makes its expression NULL and logs a line. Regular expressions are Java's, with these
[limits](limits.md#regular-expressions).
"""
#: Headings, the modules whose functions stand below them, and what the reader should know.
FAMILIES: dict[str, tuple[str, ...]] = {
    "Numbers": ("numbers", "trigonometry"),
    "Text": ("strings", "patterns"),
    "JSON": ("json_text",),
    "Arrays and maps": ("collections",),
    "Dates and times": ("dates.functions",),
    "URLs": ("urls",),
    "Bytes and encodings": ("encodings",),
    "NULL and keys": ("nulls",),
    "As other dialects have them": ("standard.values", "standard.moments"),
}
ROWS = """\
The examples below aggregate these rows of the stream `sales`, in this order:

| country | n | amount | tags |
|---|---|---|---|
| DE | 3 | 10.0 | [1, 2] |
| FR | 1 | 20.0 | [3] |
| DE | 2 | 60.0 | NULL |
"""
#: The quotes around text inside of arrays and maps.
NESTED = "'"
SET_UP = """
CREATE STREAM one (id VARCHAR KEY, number INT)
    WITH (KAFKA_TOPIC='one', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO one VALUES ('a', 1);
CREATE STREAM sales (id VARCHAR KEY, country VARCHAR, n INT, amount DOUBLE, tags ARRAY<INT>)
    WITH (KAFKA_TOPIC='sales', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO sales VALUES ('1', 'DE', 3, 10.0, ARRAY[1, 2]);
INSERT INTO sales VALUES ('2', 'FR', 1, 20.0, ARRAY[3]);
INSERT INTO sales (id, country, n, amount) VALUES ('3', 'DE', 2, 60.0);
"""


@cache
def examples() -> dict[str, list[str]]:
    """Return the examples of each function, by name."""
    data = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
    return {name: texts for family in data.values() for name, texts in family.items()}


def render() -> str:
    """Return the page: families of scalar functions, then aggregates and table functions."""
    registry = built_in_functions()
    engine = SqlEngine()
    engine.execute(SET_UP)
    parts = [INTRODUCTION, "".join(_contents(registry))]
    for family, members in scalar_families(registry).items():
        parts.append(f"\n## {family}\n")
        parts += [_section(engine, function, "one") for function in members]
    parts.append(f"\n## Aggregates\n\n{ROWS}")
    parts += [_section(engine, each, "sales") for _, each in sorted(registry.aggregates.items())]
    parts.append("\n## Table functions\n\nA table function makes several rows of one.\n")
    parts += [_section(engine, each, "one") for _, each in sorted(registry.tables.items())]
    return "".join(parts)


def scalar_families(registry: FunctionRegistry) -> dict[str, list[Function[Any]]]:
    """Return the scalar functions by heading, each heading by name."""
    found: dict[str, list[Function[Any]]] = {family: [] for family in FAMILIES}
    for _, function in sorted(registry.scalars.items()):
        module = function.overloads[0].implementation.__module__.partition(".functions.")[2]
        family = next((name for name, mine in FAMILIES.items() if module in mine), "Numbers")
        found[family].append(function)
    return found


def _contents(registry: FunctionRegistry) -> Iterator[str]:
    yield "\n| Family | Functions |\n|---|---|\n"
    families: dict[str, list[Any]] = dict(scalar_families(registry))
    families["Aggregates"] = [each for _, each in sorted(registry.aggregates.items())]
    families["Table functions"] = [each for _, each in sorted(registry.tables.items())]
    for family, members in families.items():
        links = " ".join(f"[`{each.name}`](#{each.name.lower()})" for each in members)
        yield f"| {family} | {links} |\n"


def _section(engine: SqlEngine, function: Function[Any], source: str) -> str:
    calls = dict.fromkeys(
        f"{function.name}{each.signature} → {each.signature.result}" for each in function.overloads
    )
    lines = [f"\n### {function.name}\n", function.description + "\n", "```text", *calls]
    lines += ["```\n", "| Example | Result |", "|---|---|"]
    for text in examples()[function.name]:
        lines.append(f"| `{_cell(text.removeprefix('~ '))}` | {answer(engine, text, source)} |")
    return "\n".join(lines) + "\n"


def answer(engine: SqlEngine, text: str, source: str) -> str:
    """Return what the engine answers to an example; ``~`` marks one that differs each time."""
    (result,) = engine.execute(f"SELECT {text.removeprefix('~ ')} AS r FROM {source};")
    if text.startswith("~ "):
        return "differs each time"
    # A row of a table function is one line each.
    return "<br>".join(f"`{_cell(_shown(row[0]))}`" for row in result.rows)


def _shown(value: Any, quote: str = "") -> str:
    """Return a value as SQL would write it; text inside of others stands in quotes."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return f"{quote}{value}{quote}"
        case datetime():
            return value.replace(tzinfo=None).isoformat()
        case date() | time():
            return value.isoformat()
        case list():
            return f"[{', '.join(_shown(each, NESTED) for each in value)}]"
        case dict():
            pairs = (f"{name}: {_shown(each, NESTED)}" for name, each in value.items())
            return f"{{{', '.join(pairs)}}}"
        case bytes():
            return f"bytes {value.hex(' ')}"
    return str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
