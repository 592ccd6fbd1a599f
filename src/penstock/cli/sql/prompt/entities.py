"""What the server says about a statement, as tables and lines for people to read.

The names of kinds and fields are ksqlDB's. An entity of an unknown kind is shown as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson
from rich import box
from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from penstock.cli.sql.prompt.source_text import query_parts, source_parts
from penstock.client.descriptions import state_of, type_text

Entity = Mapping[str, Any]
Parts = list[RenderableType]


def shown(entity: Entity) -> Parts:
    """Return what is printed for one entity, its warnings last."""
    show = _KINDS.get(str(entity.get("@type")), _unknown)
    warnings = [
        Text(f"warning: {each.get('message', each)}", style="yellow")
        for each in entity.get("warnings") or ()
        if isinstance(each, Mapping)
    ]
    return [*show(entity), *warnings]


def listing(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return rows under headings, with numbers aligned to the right."""
    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for index, name in enumerate(headings):
        is_number = bool(cells) and all(_is_number(row[index]) for row in cells)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _rows(*keys: str) -> Callable[[Sequence[Entity]], list[list[object]]]:
    return lambda items: [[item.get(key) for key in keys] for item in items]


def _status(entity: Entity) -> Parts:
    state = entity.get("commandStatus") or {}
    is_bad = state.get("status") in ("ERROR", "TERMINATED")
    mark = Text("✗ " if is_bad else "✓ ", style="red" if is_bad else "green")
    text = str(state.get("message") or state.get("status") or "done")
    query = state.get("queryId")
    tail = f"  query {query}" if query and str(query) not in text else ""
    return [mark.append(text, style="default").append(tail, style="dim")]


def _streams(entity: Entity) -> Parts:
    rows = _rows("name", "topic", "keyFormat", "valueFormat", "isWindowed")(entity["streams"])
    return [listing(("Stream", "Topic", "Key format", "Value format", "Windowed"), rows)]


def _tables(entity: Entity) -> Parts:
    rows = _rows("name", "topic", "keyFormat", "valueFormat", "isWindowed")(entity["tables"])
    return [listing(("Table", "Topic", "Key format", "Value format", "Windowed"), rows)]


def _topics(entity: Entity) -> Parts:
    return [
        listing(
            ("Topic", "Partitions", "Replicas"),
            ([t["name"], len(t["replicaInfo"]), _replicas(t)] for t in entity["topics"]),
        )
    ]


def _topics_extended(entity: Entity) -> Parts:
    rows = (
        [
            t["name"],
            len(t["replicaInfo"]),
            _replicas(t),
            t.get("consumerCount"),
            t.get("consumerGroupCount"),
        ]
        for t in entity["topics"]
    )
    return [listing(("Topic", "Partitions", "Replicas", "Consumers", "Groups"), rows)]


def _replicas(topic: Entity) -> str:
    return ", ".join(map(str, sorted(set(topic["replicaInfo"]))))


def _queries(entity: Entity) -> Parts:
    rows = (
        [
            query["id"],
            query.get("queryType"),
            query.get("state") or state_of(query.get("statusCount") or {}),
            query.get("sinks"),
            query.get("sinkKafkaTopics"),
            " ".join(str(query.get("queryString", "")).split()),
        ]
        for query in entity["queries"]
    )
    table = listing(("Query", "Type", "State", "Writes", "Topic", "Statement"), rows)
    return [table, Text("EXPLAIN query; shows one of them", style="dim")]


def _properties(entity: Entity) -> Parts:
    found = entity["properties"]
    if isinstance(found, Mapping):
        return [listing(("Property", "Value"), sorted(found.items()))]
    keys = ("name", "scope", "level", "value")
    rows = _rows(*keys)(sorted(found, key=lambda each: str(each["name"])))
    return [listing(("Property", "Scope", "Origin", "Value"), rows)]


def _functions(entity: Entity) -> Parts:
    found = sorted(entity["functions"], key=lambda each: (each.get("category") or "", each["name"]))
    return [listing(("Function", "Kind", "Category"), _rows("name", "type", "category")(found))]


def _function(entity: Entity) -> Parts:
    parts: Parts = [Text(f"{entity['name']}", style="bold")]
    for name in ("description", "author", "version", "type", "path"):
        if entity.get(name):
            parts.append(Text(f"{name.capitalize():<12} {entity[name]}"))
    for each in entity.get("functions") or ():
        arguments = ", ".join(_argument(a) for a in each.get("arguments") or ())
        parts.append(Text(f"\n  {entity['name']}({arguments}) -> {each.get('returnType')}"))
        if each.get("description"):
            parts.append(Text(f"    {each['description']}", style="dim"))
        parts += [
            Text(f"    {a.get('name')}: {a['description']}", style="dim")
            for a in each.get("arguments") or ()
            if a.get("description")
        ]
    return parts


def _argument(argument: Entity) -> str:
    dots = "..." if argument.get("isVariadic") else ""
    name = argument.get("name") or ""
    return f"{name} {argument.get('type')}{dots}".strip()


def _types(entity: Entity) -> Parts:
    rows = ([name, type_text(schema)] for name, schema in sorted(entity["types"].items()))
    return [listing(("Type", "Schema"), rows)]


def _variables(entity: Entity) -> Parts:
    return [listing(("Variable", "Value"), _rows("name", "value")(entity["variables"]))]


def _connectors(entity: Entity) -> Parts:
    rows = _rows("name", "type", "className", "state")(entity["connectors"])
    return [listing(("Connector", "Type", "Class", "State"), rows)]


def _plugins(entity: Entity) -> Parts:
    found = entity.get("connectorsPlugins") or entity.get("connectorPlugins") or ()
    rows = _rows("className", "type", "version")(found)
    return [listing(("Class", "Type", "Version"), rows)]


def _connector(entity: Entity) -> Parts:
    status = entity.get("status") or {}
    facts = (
        ("Name", status.get("name")),
        ("Class", entity.get("connectorClass")),
        ("Type", status.get("type")),
        ("State", (status.get("connector") or {}).get("state")),
        ("Worker", (status.get("connector") or {}).get("worker_id")),
    )
    parts: Parts = [Text(f"{name:<8} {value or ''}") for name, value in facts]
    tasks = _rows("id", "state", "worker_id", "trace")(status.get("tasks") or ())
    parts.append(listing(("Task", "State", "Worker", "Error"), tasks))
    if entity.get("topics"):
        parts.append(listing(("Topic",), ([topic] for topic in entity["topics"])))
    return parts


def _created_connector(entity: Entity) -> Parts:
    name = (entity.get("info") or {}).get("name", "")
    return [Text("✓ ", style="green").append(f"connector {name} created", style="default")]


def _done(form: str) -> Callable[[Entity], Parts]:
    return lambda entity: [
        Text("✓ ", style="green").append(form.format_map(_Fields(entity)), style="default")
    ]


class _Fields(dict[str, Any]):
    """The fields of an entity for a text; one that is not there is empty."""

    def __missing__(self, key: str) -> str:
        return ""


def _warning(entity: Entity) -> Parts:
    return [Text(str(entity.get("message") or ""), style="yellow")]


def _plan(entity: Entity) -> Parts:
    return [Text(str(entity.get("executionPlanText") or entity.get("executionPlan") or ""))]


def _topic(entity: Entity) -> Parts:
    rows = [[entity.get(key) for key in ("name", "topic", "format", "schemaString")]]
    return [listing(("Source", "Topic", "Format", "Schema"), rows)]


def _assert(entity: Entity) -> Parts:
    what = entity.get("topicName") or entity.get("subject") or f"schema {entity.get('id')}"
    says = "exists" if entity.get("exists") else "does not exist"
    return [Text("✓ ", style="green").append(f"{what} {says}", style="default")]


def _unknown(entity: Entity) -> Parts:
    text = orjson.dumps(entity, option=orjson.OPT_INDENT_2, default=str).decode()
    return [Syntax(text, "json", background_color="default")]


_KINDS: dict[str, Callable[[Entity], Parts]] = {
    "currentStatus": _status,
    "streams": _streams,
    "tables": _tables,
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics_extended,
    "queries": _queries,
    "properties": _properties,
    "function_names": _functions,
    "describe_function": _function,
    "type_list": _types,
    "variables": _variables,
    "sourceDescription": lambda entity: source_parts(entity["sourceDescription"]),
    "source_descriptions": lambda entity: [
        part for each in entity["sourceDescriptions"] for part in source_parts(each)
    ],
    "queryDescription": lambda entity: query_parts(entity["queryDescription"]),
    "query_descriptions": lambda entity: [
        part for each in entity["queryDescriptions"] for part in query_parts(each)
    ],
    "topicDescription": _topic,
    "executionPlan": _plan,
    "connector_list": _connectors,
    "connector_plugins_list": _plugins,
    "connector_description": _connector,
    "connector_info": _created_connector,
    "drop_connector": _done("connector {connectorName} dropped"),
    "terminate_query": _done("query {queryId} terminated"),
    "assert_topic": _assert,
    "assert_schema": _assert,
    "warning_entity": _warning,
}
