"""DESCRIBE and EXPLAIN: columns, formats, queries, statistics and topology as lines and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from penstock.client.descriptions import state_of, type_text

Entity = Mapping[str, Any]
_ROLES = {"KEY": "key", "HEADER": "header"}


def source_parts(source: Entity) -> list[RenderableType]:
    """Return a stream or table: its columns, and with EXTENDED all the rest."""
    kind = str(source.get("type") or "").lower()
    parts: list[RenderableType] = [
        Text(f"{source.get('name')}", style="bold").append(f"  {kind}", style="not bold dim"),
        _columns(source.get("fields") or (), is_table=kind == "table"),
    ]
    if not source.get("extended"):
        parts.append(Text(f"DESCRIBE {source.get('name')} EXTENDED; shows more", style="dim"))
        return parts
    parts += _facts(
        ("Topic", source.get("topic")),
        ("Partitions", source.get("partitions")),
        ("Replicas", source.get("replication")),
        ("Key format", source.get("keyFormat")),
        ("Value format", source.get("valueFormat")),
        ("Timestamp", source.get("timestamp")),
        ("Window", source.get("windowType")),
        ("Written by", source.get("sourceConstraints")),
    )
    parts += _queries("Queries that read it", source.get("readQueries"))
    parts += _queries("Queries that write it", source.get("writeQueries"))
    parts += _text("Statement", source.get("statement"), "sql")
    parts += _facts(("Statistics", source.get("statistics")), ("Errors", source.get("errorStats")))
    parts += _offsets(source.get("queryOffsetSummaries") or ())
    return parts


def query_parts(query: Entity) -> list[RenderableType]:
    """Return what EXPLAIN says about a query."""
    parts: list[RenderableType] = [Text(str(query.get("id") or "query"), style="bold")]
    parts += _facts(
        ("Type", query.get("queryType")),
        ("State", query.get("state") or _states(query.get("ksqlHostQueryStatus") or {})),
        ("Reads", query.get("sources")),
        ("Writes", query.get("sinks")),
        ("Group", query.get("consumerGroupId")),
    )
    parts += _text("Statement", query.get("statementText"), "sql")
    if query.get("fields"):
        parts.append(_columns(query["fields"], is_table=bool(query.get("windowType"))))
    parts += _text("Plan", query.get("executionPlan"))
    parts += _text("Topology", query.get("topology"))
    properties = query.get("overriddenProperties") or {}
    if properties:
        parts += [Text("\nProperties", style="bold"), *_facts(*sorted(properties.items()))]
    for error in query.get("queryErrors") or ():
        parts.append(Text(f"{error.get('type')} error: {error.get('errorMessage')}", style="red"))
    return parts


def _states(states: Mapping[str, Any]) -> str:
    return state_of({str(state): 1 for state in states.values()})


def _columns(fields: Sequence[Entity], *, is_table: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Column", "Type", ""):
        table.add_column(heading, overflow="fold")
    for each in fields:
        kind = str(each.get("fieldType") or each.get("type") or "")
        role = "primary key" if kind == "KEY" and is_table else _ROLES.get(kind, "")
        header = each.get("headerKey")
        if header:
            role = f"header({header!r})"
        table.add_row(
            Text(str(each["name"])), type_text(each.get("schema") or {}), Text(role, style="dim")
        )
    return table


def _facts(*facts: tuple[str, Any]) -> list[RenderableType]:
    known = [(name, _plain(value)) for name, value in facts if value not in (None, "", [], ())]
    width = max((len(name) for name, _ in known), default=0)
    return [
        Text(f"{name:<{width}}  ", style="bold").append(value, style="not bold")
        for name, value in known
    ]


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value).strip()


def _queries(title: str, queries: Sequence[Entity] | None) -> list[RenderableType]:
    if not queries:
        return []
    parts: list[RenderableType] = [Text(f"\n{title}", style="bold")]
    for query in queries:
        state = query.get("state") or state_of(query.get("statusCount") or {})
        sql = " ".join(str(query.get("queryString") or "").split())
        parts.append(Text(f"  {query.get('id')} ({state}): {sql}"))
    return parts


def _text(title: str, text: Any, language: str | None = None) -> list[RenderableType]:
    if not text:
        return []
    body = str(text).strip()
    shown: RenderableType = Text(body)
    if language is not None:
        shown = Syntax(body, language, background_color="default", word_wrap=True)
    return [Text(f"\n{title}", style="bold"), shown]


def _offsets(summaries: Sequence[Entity]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for summary in summaries:
        parts.append(Text(f"\nConsumer group {summary.get('groupId')}", style="bold"))
        for topic in summary.get("topicSummaries") or ():
            offsets = topic.get("offsets") or ()
            lag = sum(each["logEndOffset"] - each["consumerOffset"] for each in offsets)
            parts.append(Text(f"  {topic.get('kafkaTopic')}: {len(offsets)} partitions, lag {lag}"))
    return parts
