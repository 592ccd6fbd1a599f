"""The catalog after a case: streams, tables and topics with their formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.formats.formats import format_named
from penstock.formats.rows import RowFormat
from penstock.registry.registry import subject_of
from penstock.sql import SqlEngine
from penstock.sql.ast.statements import CreateSource
from penstock.sql.catalog.catalog import DataSource, FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.catalog.type_names import resolve
from penstock.sql.syntax.parser import parse_statement
from penstock.testing.sql.records import load
from penstock.topology.nodes import Sink
from tests.sqlcases.cases import Case


def post_differences(case: Case, engine: SqlEngine) -> list[str]:
    """Gives what differs between the catalog and the case's ``post``."""
    problems: list[str] = []
    for wanted in case.post.get("sources") or ():
        problems.extend(_source_problems(wanted, engine))
    topics = case.post.get("topics") or {}
    internal = dict(_internal_topics(engine))
    for wanted in topics.get("topics") or ():
        problems.extend(_topic_problems(wanted, engine, internal))
    banned = topics.get("blacklist")
    if banned is not None:
        problems.extend(f"there is a topic {name}" for name in internal if re.match(banned, name))
    return problems


def _source_problems(wanted: dict[str, Any], engine: SqlEngine) -> Iterator[str]:
    source = engine.sources.get(wanted["name"])
    if source is None:
        yield f"there is no source {wanted['name']}"
        return
    if source.kind != str(wanted["type"]).upper():
        yield f"{source.name} is a {source.kind}, not a {wanted['type']}"
    if "schema" in wanted:
        own, other = _columns(source), _wanted_columns(wanted["schema"], engine)
        if own != other:
            yield f"{source.name} has ({_shown(own)}), not ({_shown(other)})"
    if "isSource" in wanted and source.is_source != wanted["isSource"]:
        yield f"{source.name}: is_source is {source.is_source}"
    yield from _format_problems(wanted, source)


def _format_problems(wanted: dict[str, Any], source: DataSource) -> Iterator[str]:
    key = wanted.get("keyFormat")
    if key is not None:
        window = source.window
        actual = {
            "format": source.key_format.name,
            "windowType": window.kind if window else None,
            "windowSize": window.size_ms if window else None,
        }
        for name, value in actual.items():
            if name in key and _plain(key[name]) != value:
                yield f"{source.name}: key {name} is {value}, not {key[name]}"
    value_format = wanted.get("valueFormat")
    if value_format is not None:
        name = value_format if isinstance(value_format, str) else value_format["format"]
        if name != source.value_format.name:
            yield f"{source.name}: value format is {source.value_format.name}, not {name}"
    if "keyFeatures" in wanted:
        own = features(source.key_format, source.schema.key, is_key=True)
        if own != wanted["keyFeatures"]:
            yield f"{source.name}: key features are {own}, not {wanted['keyFeatures']}"
    if "valueFeatures" in wanted:
        own = features(source.value_format, source.schema.value, is_key=False)
        if own != wanted["valueFeatures"]:
            yield f"{source.name}: value features are {own}, not {wanted['valueFeatures']}"


def features(spec: FormatSpec, columns: tuple[SourceColumn, ...], *, is_key: bool) -> list[str]:
    """Gives how a single column is written, where the format leaves a choice."""
    found = format_named(spec.name)
    if len(columns) != 1 or not (found.wraps and found.unwraps):
        return []
    if is_key:
        return ["UNWRAP_SINGLES"]
    return [] if spec.wrap is None else ["WRAP_SINGLES" if spec.wrap else "UNWRAP_SINGLES"]


def _plain(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _columns(source: DataSource) -> list[tuple[str, str, str]]:
    schema = source.schema
    ordered = (*schema.key, *schema.value, *schema.headers)
    return [(c.name, str(c.type), c.namespace) for c in ordered]


def _wanted_columns(schema: str, engine: SqlEngine) -> list[tuple[str, str, str]]:
    statement = parse_statement(f"CREATE STREAM X ({schema}) WITH (KAFKA_TOPIC='x');")
    assert isinstance(statement, CreateSource)
    columns = []
    for column in statement.columns:
        constraint = (column.constraint or "VALUE").removeprefix("PRIMARY ")
        space = "HEADERS" if constraint.startswith("HEADER") else constraint
        columns.append((column.name, str(resolve(column.type, engine.catalog.types)), space))
    return columns


def _shown(columns: list[tuple[str, str, str]]) -> str:
    return ", ".join(" ".join(column).removesuffix(" VALUE") for column in columns)


def _internal_topics(engine: SqlEngine) -> Iterator[tuple[str, RowFormat | None]]:
    """Gives the repartition and changelog topics of all queries with the format of their keys."""
    for query_id, topology in engine.topologies().items():
        prefix, graph = engine.application_id(query_id), topology.graph
        for node in graph.nodes.values():
            if isinstance(node, Sink) and node.is_internal and node.topic is not None:
                yield f"{prefix}-{node.topic}", _row(node.key_serde)
        for name, store in graph.stores.items():
            if store.logging and name not in graph.source_changelogs:
                yield f"{prefix}-{name}-changelog", _row(store.key_serde)


def _row(serde: Any) -> RowFormat | None:
    inner = getattr(serde, "inner", serde)
    return getattr(inner, "row", None)


def _topic_problems(
    wanted: dict[str, Any], engine: SqlEngine, internal: dict[str, RowFormat | None]
) -> Iterator[str]:
    name, key = wanted["name"], wanted["keyFormat"]["format"]
    sources = [source for source in engine.sources.values() if source.topic == name]
    if sources:
        own = sources[0].key_format.name
        value = wanted["valueFormat"]["format"]
        if value != sources[0].value_format.name:
            yield f"{name}: value format is {sources[0].value_format.name}, not {value}"
        yield from _schema_problems(wanted, engine)
    elif name in internal:
        row = internal[name]
        own = "none" if row is None else row.format.name
    else:
        yield f"there is no topic {name}; topics are {', '.join(internal) or 'none'}"
        return
    if own != key:
        yield f"{name}: key format is {own}, not {key}"


def _schema_problems(wanted: dict[str, Any], engine: SqlEngine) -> Iterator[str]:
    """Compares the schemas that the registry has for a topic of a stream or table."""
    for side, is_key in (("key", True), ("value", False)):
        schema = wanted.get(f"{side}Schema")
        if schema is None:
            continue
        found = engine.registry.latest(subject_of(wanted["name"], is_key=is_key))
        if found is None:
            yield f"{wanted['name']}: there is no {side} schema"
        elif isinstance(schema, dict) and _essence(load(found.schema.text)) != _essence(schema):
            yield f"{wanted['name']}: the {side} schema is {found.schema.text}"


def _essence(schema: Any, namespace: str | None = None) -> Any:
    """Gives a schema without names for Connect and without namespaces that are inherited."""
    if isinstance(schema, list):
        return [_essence(item, namespace) for item in schema]
    if not isinstance(schema, dict):
        return schema
    own = schema.get("namespace", namespace)
    kept = {name: item for name, item in schema.items() if name != "connect.name"}
    if own == namespace:
        kept.pop("namespace", None)
    return {name: _essence(item, own) for name, item in kept.items()}
