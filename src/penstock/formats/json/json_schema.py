"""JSON Schemas: from columns to a schema, and from a schema to wire types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.formats.wire import (
    DEFAULT_PRECISION,
    Wire,
    WireArray,
    WireDecimal,
    WireField,
    WireMap,
    WireScalar,
    WireStruct,
)
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)

Node = Mapping[str, Any]

_CONNECT = "org.apache.kafka.connect.data"
_UNION_FIELD = "io.confluent.connect.json.OneOf.field."
_LOGICAL = {
    f"{_CONNECT}.Date": WireScalar.DATE,
    f"{_CONNECT}.Time": WireScalar.TIME,
    f"{_CONNECT}.Timestamp": WireScalar.TIMESTAMP,
}
_NUMBERS = {
    "int8": WireScalar.INT,
    "int16": WireScalar.INT,
    "int32": WireScalar.INT,
    "int64": WireScalar.LONG,
    "float32": WireScalar.FLOAT,
    "float64": WireScalar.DOUBLE,
    None: None,
}


@dataclass(slots=True)
class JsonSchema:
    """A parsed schema whose references can be followed."""

    root: Node
    imported: Mapping[str, Node] = field(default_factory=dict)

    @staticmethod
    def parse(text: str, imported: Mapping[str, str] | None = None) -> JsonSchema:
        others = {name: json.loads(other) for name, other in (imported or {}).items()}
        return JsonSchema(json.loads(text), others)

    def resolved(self, node: Any) -> Node:
        """Follow ``$ref``, and leave out null if there is one other alternative."""
        if not isinstance(node, Mapping):
            raise ValueError(f"{node!r} says nothing about a type")
        if "$ref" in node:
            return self.resolved(self._referred(node["$ref"]))
        there = [each for each in alternatives(node) if each.get("type") != "null"]
        if len(there) == 1:
            return self.resolved(there[0])
        if isinstance(node.get("type"), list):
            kinds = [kind for kind in node["type"] if kind != "null"]
            rest = {key: value for key, value in node.items() if key != "type"}
            if len(kinds) == 1:
                return {**rest, "type": kinds[0]}
            return {"oneOf": [{**rest, "type": kind} for kind in kinds]}
        return node

    def _referred(self, reference: str) -> Any:
        name, _, path = reference.partition("#")
        found: Any = self.root if not name else self.imported.get(name)
        for step in path.strip("/").split("/") if path.strip("/") else ():
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if found else None
        if found is None:
            raise ValueError(f"the schema refers to {reference!r}, which is not there")
        return found

    def wire(self, node: Any = None, above: tuple[int, ...] = ()) -> Wire:
        """Return the wire type of a node, or of the whole schema."""
        node = self.resolved(self.root if node is None else node)
        if id(node) in above:
            raise ValueError("the schema contains itself, which no SQL type can")
        inside = (*above, id(node))
        if len(alternatives(node)) > 1:
            return self._union(node, inside)
        if "enum" in node or "const" in node:
            return WireScalar.STRING
        match node.get("type") or ("object" if "properties" in node or "allOf" in node else None):
            case "boolean":
                return WireScalar.BOOLEAN
            case "integer":
                return _LOGICAL.get(node.get("title", "")) or _number(node, WireScalar.LONG)
            case "number":
                return _number(node, WireScalar.DOUBLE)
            case "string":
                return _number(node, WireScalar.STRING)
            case "array":
                return self._array(node, inside)
            case "object":
                return self._object(node, inside)
            case other:
                raise ValueError(f"no SQL type stands for JSON Schema's {other!r}")

    def _array(self, node: Node, above: tuple[int, ...]) -> Wire:
        if "items" not in node:
            raise ValueError("an array's schema does not say what its items are")
        if is_map(node):
            entry = self.resolved(node["items"])["properties"]
            return WireMap(self.wire(entry["key"], above), self.wire(entry["value"], above))
        return WireArray(self.wire(node["items"], above))

    def _object(self, node: Node, above: tuple[int, ...]) -> Wire:
        if is_map(node):
            return WireMap(WireScalar.STRING, self.wire(node["additionalProperties"], above))
        return WireStruct(
            tuple(WireField(name, self.wire(part, above)) for name, part in self.members(node))
        )

    def members(self, node: Node) -> list[tuple[str, Any]]:
        """Return the properties of an object in order: by ``"connect.index"``, or as written."""
        found = dict(node.get("properties", {}))
        for part in node.get("allOf", ()):
            found.update(self.members(self.resolved(part)))
        placed: dict[int, tuple[str, Any]] = {}
        for name, part in found.items():
            placed[part.get("connect.index", len(placed))] = (name, part)
        return [placed[index] for index in sorted(placed)]

    def _union(self, node: Node, above: tuple[int, ...]) -> Wire:
        return WireStruct(
            tuple(
                WireField(f"{_UNION_FIELD}{index}", self.wire(each, above))
                for index, each in enumerate(self.branches(node))
            )
        )

    def branches(self, node: Node) -> list[Node]:
        """Return the alternatives that are not null."""
        return [self.resolved(a) for a in alternatives(node) if a.get("type") != "null"]


def alternatives(node: Node) -> list[Node]:
    return list(node.get("oneOf") or node.get("anyOf") or ())


def is_map(node: Node) -> bool:
    return node.get("connect.type") == "map"


def _number(node: Node, default: WireScalar) -> Wire:
    connect = node.get("connect.type")
    if connect == "bytes":
        if node.get("title") == f"{_CONNECT}.Decimal":
            parameters = node.get("connect.parameters", {})
            precision = int(parameters.get("connect.decimal.precision", DEFAULT_PRECISION))
            return WireDecimal(precision, int(parameters.get("scale", 0)))
        return WireScalar.BYTES
    return _NUMBERS.get(connect) or default


def schema_of_columns(columns: Sequence[Field], *, is_unwrapped: bool) -> Node:
    """Return the schema that rows of these columns are written with. Everything may be null."""
    if is_unwrapped:
        return _optional(columns[0].type)
    return _object([(column.name, column.type) for column in columns])


def _object(fields: Sequence[tuple[str, SqlType]]) -> Node:
    members = {name: _optional(type_, index) for index, (name, type_) in enumerate(fields)}
    return {"type": "object", "properties": members}


def _optional(type_: SqlType, index: int | None = None) -> Node:
    either = {"oneOf": [{"type": "null"}, _required(type_)]}
    return either if index is None else {"connect.index": index, **either}


def _required(type_: SqlType) -> Node:
    match type_:
        case StructType(fields):
            return _object([(f.name, f.type) for f in fields])
        case ArrayType(element):
            return {"type": "array", "items": _optional(element)}
        case MapType(key, value):
            # A key may be NULL in SQL. The name of a JSON member cannot be null.
            entry = {"key": _optional(key, 0), "value": _optional(value, 1)}
            items = {"type": "object", "properties": entry}
            return {"type": "array", "connect.type": "map", "items": items}
        case DecimalType(precision, scale):
            return {
                "type": "number",
                "title": f"{_CONNECT}.Decimal",
                "connect.version": 1,
                "connect.type": "bytes",
                "connect.parameters": {
                    "scale": str(scale),
                    "connect.decimal.precision": str(precision),
                },
            }
        case _:
            return _WRITTEN[type_]


def _integer(connect: str, title: str | None = None) -> Node:
    node: dict[str, Any] = {"type": "integer", "connect.type": connect}
    if title:
        node |= {"title": f"{_CONNECT}.{title}", "connect.version": 1}
    return node


_WRITTEN: dict[SqlType, Node] = {
    BOOLEAN: {"type": "boolean"},
    INTEGER: _integer("int32"),
    BIGINT: _integer("int64"),
    DOUBLE: {"type": "number", "connect.type": "float64"},
    STRING: {"type": "string"},
    BYTES: {"type": "string", "connect.type": "bytes"},
    DATE: _integer("int32", "Date"),
    TIME: _integer("int32", "Time"),
    TIMESTAMP: _integer("int64", "Timestamp"),
}
