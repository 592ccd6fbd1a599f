"""What a node is called where people look: its operator, its line, its function, its topic.

Kafka's generated name, such as ``KSTREAM-FILTER-0000000003``, stands behind. It numbers a node,
and metrics and topics have it, but it does not say which line of the program the node is.
"""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import fields
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from penstock.expr.aggregates import count_start
from penstock.expr.expression import Expression
from penstock.topology.nodes import (
    Filter,
    ForeignKeyResolve,
    GlobalJoin,
    Node,
    NullKeyFilter,
    PassThrough,
    Sink,
    Source,
    StreamTableJoin,
    TableFilter,
    TablePassThrough,
)

#: What a sink writes whose topic is a function: its address would differ in every picture.
BY_RECORD = "a topic chosen by record"

_GENERATED = re.compile(r"^K(STREAM|TABLE)-[A-Z-]+-\d{10}|-\d{10}")
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
#: Nodes that no method of the DSL is named after.
_WORDS = {
    "ForeignKeyLookUp": "foreign-key look-up",
    "ForeignKeyReceive": "foreign-key subscriptions",
    "ForeignKeySubscribe": "foreign-key subscribe",
    "ForeignKeyUpdate": "foreign-key updates",
    "NullKeyFilter": "null-key filter",
    "SessionAggregate": "session aggregate",
    "SlidingAggregate": "sliding aggregate",
    "Sink": "write",
    "Source": "read",
    "StreamJoin": "join",
    "StreamJoinWindow": "join window",
    "StreamSelfJoin": "join",
    "TableJoin": "join",
    "TableJoinMerge": "join",
    "TableSource": "table",
    "WindowAggregate": "windowed aggregate",
}
_LEFT_JOINS = {GlobalJoin: "is_left", StreamTableJoin: "is_left", ForeignKeyResolve: "is_left_join"}
_NEGATED = (Filter, TableFilter)
_FUNCTIONS = ("predicate", "fn", "key_selector", "joiner", "foreign_key", "selector", "supplier")
_MOST_CODE = 60


def operator(node: Node) -> str:
    """Return the method of the DSL that makes such a node, or words for what a method adds."""
    if isinstance(node, _NEGATED):
        return "filter_not" if node.negate else "filter"
    if isinstance(node, PassThrough | TablePassThrough):
        return "merge" if len(node.parents) > 1 else "branch" if "BRANCH" in node.name else "pass"
    left = _LEFT_JOINS.get(type(node))
    if left is not None:
        return "left_join" if getattr(node, left) else "join"
    kind = type(node).__name__
    words = _WORDS.get(kind) or _WORD.sub("_", kind).lower().removeprefix("table_")
    if getattr(node, "initializer", None) is count_start:
        return words.replace("aggregate", "count")
    return words


def subject(node: Node) -> str:
    """Return what an operator works with: its topics, its function or its stores; or nothing."""
    if isinstance(node, Source):
        return node.pattern.pattern if node.pattern else ", ".join(node.topics)
    if isinstance(node, Sink):
        return node.topic or BY_RECORD
    return code(node) or ", ".join(node.stores)


def named_operator(node: Node) -> str:
    """Return the operator and the name that the user gave: ``filter`` or ``filter 'large'``.

    Sources and sinks have none: their topics tell them apart.
    """
    is_named = not (is_generated(node.name) or isinstance(node, Source | Sink | NullKeyFilter))
    return f"{operator(node)} {node.name!r}" if is_named else operator(node)


def title(node: Node) -> str:
    """Return the operator, its name if a user gave one, and its line: ``filter · app.py:31``."""
    return named_operator(node) + (f" · {node.site}" if node.site else "")


def label(node: Node) -> str:
    """Return title and subject in one line: ``filter · app.py:31 · lambda key, n: n > 3``."""
    about = subject(node)
    return f"{title(node)} · {about}" if about else title(node)


def is_generated(name: str) -> bool:
    """Tell whether a name is one of those that Kafka Streams numbers, and nobody has chosen."""
    return _GENERATED.search(name) is not None


def code(node: Node) -> str | None:
    """Return the text of the function or expression that a node has, in one short line."""
    given = {field.name: getattr(node, field.name) for field in fields(node)}
    for name in _FUNCTIONS:
        text = _text(given.get(name))
        if text is not None:
            return text if len(text) <= _MOST_CODE else text[: _MOST_CODE - 1] + "…"
    return None


def _text(function: Any) -> str | None:
    if isinstance(function, Expression):
        return repr(function)
    inner = getattr(function, "__wrapped__", function)
    if str(getattr(inner, "__module__", "")).partition(".")[0] == "penstock":
        return None
    if isinstance(inner, FunctionType) and inner.__name__ == "<lambda>":
        return _lambda_text(inner.__code__)
    name = getattr(inner, "__qualname__", None)
    return None if name is None else str(name).rpartition("<locals>.")[2]


@lru_cache(maxsize=1024)
def _lambda_text(function: CodeType) -> str | None:
    """Return the text of a lambda, if its file can be read and has it at its place."""
    source = "".join(linecache.getlines(function.co_filename))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    # Several lambdas may stand in one line: the instructions know their columns.
    places = {(first, start) for first, _, start, _ in function.co_positions()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == function.co_firstlineno:
            body = node.body
            if (body.lineno, body.col_offset) in places:
                return " ".join((ast.get_source_segment(source, node) or "").split()) or None
    return None
