"""The reference page of SQL statements: their syntax from the grammar, their examples tested."""

from __future__ import annotations

import re
import textwrap
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests.architecture.source import PACKAGE
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "sql" / "statements.md"
GRAMMAR = PACKAGE / "sql" / "syntax" / "grammar.lark"
TEXTS = Path(__file__).parent / "statements.toml"
INTRODUCTION = """\
# Statements

Every statement of the language. The syntax is that of the grammar: `[…]` may be left out, `|`
separates choices, `…` repeats. Keywords may be in any case. Each example on this page is planned
by the engine in a test. Clauses that ksqlDB does not have are on [pages of their own](../sql.md).
"""

#: Small rules of the grammar that are shown in place of their names.
INLINE = (
    "or_replace", "source_flag", "source_kind", "if_not_exists", "if_exists", "not_exists",
    "delete_topic", "extended", "from_beginning", "connector_kind", "listing", "all_sources",
    "control_action", "all_queries", "print_interval", "limit", "offset", "timeout", "subject",
    "schema_id", "properties", "names", "new_column", "returned", "parameters", "returned_value",
    "returned_rows", "field_type", "select", "order_part",
    "emit_part", "limit_part", "offset_part", "order_by", "emit", "emit_kind", "distinct",
    "window_part", "where_part", "group_part", "partition_part", "having_part", "order_item",
    "direction", "nulls_order", "cut_part", "cut", "cut_number", "latest",
)  # fmt: skip
#: How rules that stay are called on the page.
CALLED = {
    "identifier": "name", "columns": "(column type [KEY | PRIMARY KEY | HEADERS], …)",
    "query": "SELECT …", "expressions": "expression, …", "topic_name": "topic",
    "property": "NAME = value", "time_span": "n unit", "create": "CREATE … AS SELECT …",
    "insert_select": "INSERT INTO … SELECT …", "select_items": "item [AS name], …",
    "relation": "source [JOIN source ON …]", "grouping": "expression, …",
    "unions": "[UNION ALL SELECT …]", "common_tables": "name AS (SELECT …), …",
    "STRING": "'text'", "INTEGER": "n", "CUT_AS": "AS",
}  # fmt: skip


@cache
def rules() -> dict[str, str]:
    """Return the rules of the grammar by name, each as one line."""
    text = re.sub(r"(?<!:)//.*", "", GRAMMAR.read_text(encoding="utf-8"))
    text = re.sub(r"\n\s+\|", " |", text)
    return dict(re.findall(r"^[!?]*([a-z_]+): (.*)$", text, re.MULTILINE))


@cache
def texts() -> dict[str, Any]:
    """Return what the page says about each statement, by the name of its rule."""
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def statements() -> list[str]:
    """Return the rules that are statements, in the order of the grammar."""
    return re.findall(r"[a-z_]+", rules()["statement"])


def render() -> str:
    """Return the page: a section for each statement."""
    return INTRODUCTION + "".join(_section(name) for name in statements())


def _section(name: str) -> str:
    text = texts()[name]
    lines = [f"\n## {text['title']}\n", "```text", *syntax(name), "```\n", text["about"].strip()]
    if example := text.get("example"):
        marker = f"<!-- not run: {text['not_run']} -->\n" if "not_run" in text else ""
        lines.append(f"\n{marker}```sql\n{example.strip()}\n```")
    return "\n".join(lines) + "\n"


def syntax(name: str) -> list[str]:
    """Return the forms of a statement as lines of text."""
    body = re.sub(r"\s*->\s*\w+", "", rules()[name])
    forms = (_expanded(form) for form in _choices(body))
    return [
        line
        for form in forms
        for line in textwrap.wrap(form, 90, subsequent_indent="    ", break_on_hyphens=False)
    ]


def _choices(body: str) -> list[str]:
    """Cut a rule at the bars that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(body):
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and depth == 0:
            parts.append(body[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, body[start:])]


def _expanded(form: str) -> str:
    quoted = re.split(r'("[^"]*")', form)
    shown = "".join(
        part[1:-1] if part.startswith('"') else re.sub(r"[A-Za-z_]+", _named, part)
        for part in quoted
    )
    shown = re.sub(r"\( ?, ?([^()]*)\)\*", r", …", shown)
    shown = re.sub(r" +", " ", shown).replace("( ", "(").replace(" )", ")").replace(" ,", ",")
    return re.sub(r"\(, \((expression, …)\)\)\*", ", …", shown).strip()


def _named(found: re.Match[str]) -> str:
    name = found[0]
    if name in INLINE and name in rules():
        forms = [_expanded(re.sub(r"\s*->\s*\w+", "", each)) for each in _choices(rules()[name])]
        return forms[0] if len(forms) == 1 else f"{{{' | '.join(forms)}}}"
    return CALLED.get(name, name)
