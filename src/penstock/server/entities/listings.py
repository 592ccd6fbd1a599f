"""SHOW, LIST, DESCRIBE and EXPLAIN as entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.config import SETTINGS
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.server.entities.facts import Facts
from penstock.server.entities.queries import push_query, query_description, running_query
from penstock.server.entities.schemas import schema_info
from penstock.server.entities.sources import source_description, source_info
from penstock.sql.ast import administration as admin
from penstock.sql.ast.node import Node
from penstock.sql.functions.signature import Signature
from penstock.sql.setting_names import STREAMS_PREFIX, is_changeable
from penstock.sql.statements.property_rows import property_rows

Entity = dict[str, Any]


def entity(kind: str, sql: str, **parts: Any) -> Entity:
    """Return an entity with what all of them have."""
    return {"@type": kind, "statementText": sql, **parts, "warnings": []}


def listed(statement: Node, sql: str, facts: Facts) -> Entity:
    """Return the answer to SHOW, LIST or DESCRIBE.

    Raises:
        AnalysisError: there is nothing of that name.
    """
    match statement:
        case admin.Show(what, is_extended):
            return _SHOWN[what](sql, facts, is_extended)
        case admin.DescribeSource(name, is_extended):
            source = facts.catalog.source(name, statement.span)
            described = source_description(source, facts, is_extended=is_extended)
            return entity("sourceDescription", sql, sourceDescription=described)
        case admin.DescribeAll(what, is_extended):
            return _descriptions(what, sql, facts, is_extended=is_extended)
        case admin.DescribeFunction(name):
            return _function(name.upper(), sql, facts)
        case _:
            raise AnalysisError("not-supported", "this cannot be listed", span=statement.span)


def _sources(kind: str) -> Callable[[str, Facts, bool], Entity]:
    def shown(sql: str, facts: Facts, is_extended: bool) -> Entity:
        what = f"{kind}S"
        if is_extended:
            return _descriptions(what, sql, facts, is_extended=True)
        found = [source_info(s) for s in facts.catalog.sources.values() if s.kind == kind]
        return entity(what.lower(), sql, **{what.lower(): _by_name(found)})

    return shown


def _descriptions(what: str, sql: str, facts: Facts, *, is_extended: bool) -> Entity:
    kind = what.removesuffix("S")
    found = [
        source_description(source, facts, is_extended=is_extended)
        for source in facts.catalog.sources.values()
        if source.kind == kind
    ]
    return entity("source_descriptions", sql, sourceDescriptions=_by_name(found))


def _queries(sql: str, facts: Facts, is_extended: bool) -> Entity:
    queries = facts.catalog.queries.values()
    if is_extended:
        described = [query_description(query, facts) for query in queries]
        return entity("query_descriptions", sql, queryDescriptions=described)
    running = [running_query(query, facts) for query in queries]
    pushed = [push_query(name, text) for name, text in facts.node.push_queries().items()]
    return entity("queries", sql, queries=[*running, *pushed])


def _topics(*, is_all: bool) -> Callable[[str, Facts, bool], Entity]:
    def shown(sql: str, facts: Facts, is_extended: bool) -> Entity:
        consumers = facts.node.consumers() if is_extended else {}
        rows = []
        for name, topic in facts.node.topics().items():
            if not is_all and facts.node.topic_rules.is_hidden(name):
                continue
            row: Entity = {
                "name": name,
                "replicaInfo": [len(partition.replicas) for partition in topic.partitions],
            }
            if is_extended:
                count, groups = consumers.get(name, (0, 0))
                row |= {"consumerCount": count, "consumerGroupCount": groups}
            rows.append(row)
        kind = "kafka_topics_extended" if is_extended else "kafka_topics"
        return entity(kind, sql, topics=_by_name(rows))

    return shown


def _properties(sql: str, facts: Facts, is_extended: bool) -> Entity:
    rows: list[Entity] = []
    defaults: list[str] = []
    for name, value, is_given in property_rows(dict(facts.settings)):
        rows.append(
            {
                "name": name,
                "scope": "KSQL" if name.startswith("ksql.") else "EXTERNAL",
                "value": value,
                "editable": is_changeable(name),
                "level": "QUERY" if name.removeprefix(STREAMS_PREFIX) in SETTINGS else "SERVER",
            }
        )
        if not is_given:
            defaults.append(name)
    overwritten = sorted(facts.overrides)
    return entity(
        "properties", sql,
        properties=rows, overwrittenProperties=overwritten, defaultProperties=defaults,
    )  # fmt: skip


def _types(sql: str, facts: Facts, is_extended: bool) -> Entity:
    types = {name: schema_info(type_) for name, type_ in sorted(facts.catalog.types.items())}
    return entity("type_list", sql, types=types)


def _variables(sql: str, facts: Facts, is_extended: bool) -> Entity:
    pairs = sorted(facts.catalog.variables.items())
    return entity("variables", sql, variables=[{"name": n, "value": v} for n, v in pairs])


def _functions(sql: str, facts: Facts, is_extended: bool) -> Entity:
    rows = [
        {"name": name, "type": kind.lower(), "category": ""}
        for kind, functions in _kinds(facts)
        for name in functions
    ]
    return entity("function_names", sql, functions=_by_name(rows))


def _function(name: str, sql: str, facts: Facts) -> Entity:
    for kind, functions in _kinds(facts):
        found = functions.get(name)
        if found is not None:
            return entity(
                "describe_function", sql,
                name=name, description=found.description or "", author="", version="",
                path="internal", functions=[_overload(each.signature) for each in found.overloads],
                type=kind,
            )  # fmt: skip
    known = [each for _, functions in _kinds(facts) for each in functions]
    raise AnalysisError(
        "unknown-function", f"there is no function {name}", fix=did_you_mean(name, known)
    )


def _overload(signature: Signature) -> Entity:
    arguments = [
        {"name": "", "type": str(pattern), "description": "", "isVariadic": False}
        for pattern in signature.parameters
    ]
    if signature.variadic is not None and arguments:
        arguments[signature.variadic]["isVariadic"] = True
    return {"arguments": arguments, "returnType": str(signature.result), "description": ""}


def _kinds(facts: Facts) -> Iterable[tuple[str, Any]]:
    functions = facts.functions
    yield "SCALAR", functions.scalars
    yield "TABLE", functions.tables
    yield "AGGREGATE", functions.aggregates


def _by_name(rows: list[Entity]) -> list[Entity]:
    return sorted(rows, key=lambda row: str(row["name"]))


_SHOWN: dict[str, Callable[[str, Facts, bool], Entity]] = {
    "STREAMS": _sources("STREAM"),
    "TABLES": _sources("TABLE"),
    "QUERIES": _queries,
    "TOPICS": _topics(is_all=False),
    "ALL TOPICS": _topics(is_all=True),
    "PROPERTIES": _properties,
    "TYPES": _types,
    "VARIABLES": _variables,
    "FUNCTIONS": _functions,
}
