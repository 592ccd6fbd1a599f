"""The schemas that are in the registry before a case begins, under the ids the cases expect.

Ids follow the order in which the cases' own harness visits topics: that of a Java ``HashMap``.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.registry.registry import MemoryRegistry, Schema, SchemaReference, subject_of
from penstock.sql import SqlEngine
from penstock.sql.ast.statements import CreateSource, CreateType
from penstock.sql.syntax.parser import parse_statement
from penstock.testing.sql.records import json_text
from penstock.topology.java_order import hash_order
from tests.sqlcases.cases import Case

_KINDS = {"AVRO": "AVRO", "JSON": "JSON", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}
_SIDES = (("key", True), ("value", False))


def register_schemas(case: Case, registry: MemoryRegistry) -> None:
    """Registers the schemas of a case's topics, then those of columns that it declares."""
    topics = {topic["name"]: topic for topic in case.topics}
    declared = _declared(case)
    for topic in topics.values():
        for side, is_key in _SIDES:
            if topic.get(f"{side}SchemaId") is not None:
                _register(registry, topic, side, is_key=is_key)
    subjects = set(declared.subjects())
    named = [*topics, *(name.rpartition("-")[0] for name in subjects)]
    for name in hash_order(named):
        for side, is_key in _SIDES:
            subject = subject_of(name, is_key=is_key)
            if _given(topics.get(name, {}), side) is not None:
                if topics[name].get(f"{side}SchemaId") is None:
                    _register(registry, topics[name], side, is_key=is_key)
            elif subject in subjects:
                found = declared.latest(subject)
                assert found is not None
                registry.register(subject, found.schema)
    for topic in topics.values():
        _register_imported(registry, topic)


def _declared(case: Case) -> MemoryRegistry:
    """Gives a registry with the schemas of the sources whose columns the statements declare."""
    registry = MemoryRegistry()
    engine = SqlEngine(case.settings, registry=registry)
    for text in case.statements:
        try:
            statement = parse_statement(text, {})
            has_columns = isinstance(statement, CreateSource) and statement.columns
            if has_columns or isinstance(statement, CreateType):
                engine.execute(text)
        except PenstockError:
            # The case itself finds out whether that is right.
            continue
    return registry


def _given(topic: dict[str, Any], side: str) -> Any:
    return topic.get(f"{side}Schema", topic.get("schema") if side == "value" else None)


def _register(registry: MemoryRegistry, topic: dict[str, Any], side: str, *, is_key: bool) -> None:
    schema = _given(topic, side)
    if schema is None:
        return
    kind: Any = _KINDS[topic.get(f"{side}Format") or topic.get("format") or "AVRO"]
    text = schema if isinstance(schema, str) and kind == "PROTOBUF" else json_text(schema)
    imported = topic.get(f"{side}SchemaReferences") or ()
    references = tuple(SchemaReference(each["name"], each["name"], 1) for each in imported)
    wanted = topic.get(f"{side}SchemaId")
    registry.register(
        subject_of(topic["name"], is_key=is_key),
        Schema(kind, text, references),
        None if wanted is None else int(wanted),
    )


def _register_imported(registry: MemoryRegistry, topic: dict[str, Any]) -> None:
    """Registers what a topic's schemas import: last, so that ids go to the schemas themselves."""
    for side, _ in _SIDES:
        for each in topic.get(f"{side}SchemaReferences") or ():
            kind: Any = _KINDS[topic.get(f"{side}Format") or topic.get("format") or "AVRO"]
            part = each["schema"]
            text = part if isinstance(part, str) else json_text(part)
            registry.register(each["name"], Schema(kind, text))
