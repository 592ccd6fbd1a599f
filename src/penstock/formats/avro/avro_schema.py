"""Avro schemas: from columns to a schema, and from a schema to wire types."""

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

Node = Any

_NAMESPACE = "io.confluent.ksql.avro_schemas"
VALUE_NAME = f"{_NAMESPACE}.KsqlDataSourceSchema"
_MAP_ENTRY = "MapEntry"
_CONNECT = "org.apache.kafka.connect.data"


def key_schema_name(source: str) -> str:
    """Name the record of a source's key.

    >>> key_schema_name("ORDERS_BY_USER")
    'io.confluent.ksql.avro_schemas.OrdersByUserKey'
    """
    return f"{_NAMESPACE}.{''.join(word.capitalize() for word in source.split('_'))}Key"


def is_map_entry(node: Node) -> bool:
    """Return whether a record is an entry, with key and value, of a map written as an array."""
    return isinstance(node, Mapping) and (
        node.get("connect.internal.type") == _MAP_ENTRY
        or (node.get("namespace"), node.get("name")) == ("io.confluent.connect.avro", _MAP_ENTRY)
    )


@dataclass(slots=True)
class AvroSchema:
    """A parsed schema, with its named types by name."""

    root: Node
    names: dict[str, Node] = field(default_factory=dict)

    @staticmethod
    def parse(text: str, imported: Sequence[str] = ()) -> AvroSchema:
        """Read a schema's text; ``imported`` are the texts of the schemas that it refers to."""
        schema = AvroSchema(None)
        for each in (*imported, text):
            schema.root = _plain(json.loads(each))
            schema._collect(schema.root, "")
        return schema

    def _collect(self, node: Node, namespace: str) -> None:
        if isinstance(node, list):
            for branch in node:
                self._collect(branch, namespace)
        elif isinstance(node, dict):
            if node.get("type") in ("record", "error", "enum", "fixed"):
                namespace = self._name(node, namespace)
            for part in ("items", "values"):
                self._collect(node.get(part), namespace)
            for each in node.get("fields", ()):
                each["type"] = _plain(each["type"])
                self._collect(each["type"], namespace)

    def _name(self, node: dict[str, Any], namespace: str) -> str:
        name = node["name"]
        own = node.get("namespace", namespace)
        if "." in name:
            own = name.rpartition(".")[0]
        full = name if "." in name or not own else f"{own}.{name}"
        self.names[full] = self.names[name.rpartition(".")[2]] = node
        return str(own)

    def resolved(self, node: Node) -> Node:
        """Return the node that a name stands for."""
        return self.names.get(node, node) if isinstance(node, str) else node

    def wire(self, node: Node = None, above: tuple[int, ...] = ()) -> Wire:
        """Return the wire type of a node, or of the whole schema."""
        node = self.resolved(self.root if node is None else node)
        if id(node) in above:
            raise ValueError("the schema contains itself, which no SQL type can")
        if isinstance(node, list):
            return self._union(node, above)
        kind = node if isinstance(node, str) else node["type"]
        inside = (*above, id(node)) if isinstance(node, dict) else above
        match kind:
            case "record" | "error":
                return WireStruct(
                    tuple(
                        WireField(f["name"], self.wire(f["type"], inside)) for f in node["fields"]
                    )
                )
            case "array":
                return self._array(node, inside)
            case "map":
                return WireMap(WireScalar.STRING, self.wire(node["values"], inside))
            case _:
                return _scalar(kind, node if isinstance(node, dict) else {})

    def _array(self, node: Node, above: tuple[int, ...]) -> Wire:
        items = self.resolved(node["items"])
        if is_map_entry(items):
            key, value = (self.wire(f["type"], above) for f in items["fields"])
            return WireMap(key, value)
        return WireArray(self.wire(items, above))

    def _union(self, branches: list[Node], above: tuple[int, ...]) -> Wire:
        """Return the wire type of a union.

        A type and null is that type. Several types are a struct with one field for each.
        """
        there = [branch for branch in branches if self.resolved(branch) != "null"]
        if len(there) == 1:
            return self.wire(there[0], above)
        return WireStruct(tuple(WireField(self.branch_name(b), self.wire(b, above)) for b in there))

    def branch_name(self, node: Node) -> str:
        node = self.resolved(node)
        if isinstance(node, dict):
            return str(node["name"] if "name" in node else node["type"])
        return str(node)


def _plain(node: Node) -> Node:
    """Simplify ``{"type": {"type": ...}}`` to the inner type."""
    if isinstance(node, dict) and isinstance(node.get("type"), dict | list):
        return _plain(node["type"])
    if isinstance(node, dict):
        return {k: _plain(v) if k in ("items", "values") else v for k, v in node.items()}
    return [_plain(branch) for branch in node] if isinstance(node, list) else node


_SCALARS = {
    "boolean": WireScalar.BOOLEAN,
    "int": WireScalar.INT,
    "long": WireScalar.LONG,
    "float": WireScalar.FLOAT,
    "double": WireScalar.DOUBLE,
    "string": WireScalar.STRING,
    "enum": WireScalar.STRING,
    "bytes": WireScalar.BYTES,
    "fixed": WireScalar.BYTES,
}
_LOGICAL = {
    ("int", "date"): WireScalar.DATE,
    ("int", "time-millis"): WireScalar.TIME,
    ("long", "timestamp-millis"): WireScalar.TIMESTAMP,
    ("int", f"{_CONNECT}.Date"): WireScalar.DATE,
    ("int", f"{_CONNECT}.Time"): WireScalar.TIME,
    ("long", f"{_CONNECT}.Timestamp"): WireScalar.TIMESTAMP,
}


def _scalar(kind: str, node: Mapping[str, Any]) -> Wire:
    logical = node.get("logicalType") or node.get("connect.name")
    if kind in ("bytes", "fixed") and logical in ("decimal", f"{_CONNECT}.Decimal"):
        precision = int(node.get("precision", DEFAULT_PRECISION))
        return WireDecimal(precision, int(node.get("scale", 0)))
    found = _LOGICAL.get((kind, str(logical))) or _SCALARS.get(kind)
    if found is None:
        raise ValueError(f"no SQL type stands for Avro's {kind!r}")
    return found


def schema_of_columns(columns: Sequence[Field], name: str, *, is_unwrapped: bool) -> Node:
    """Return the schema that rows of these columns are written with.

    Everything but the record itself may be null. ``name`` is the full name of the record. Names
    of inner records begin with it.
    """
    if is_unwrapped:
        return _required(columns[0].type, name)
    return _record([(column.name, column.type) for column in columns], name)


def _record(fields: Sequence[tuple[str, SqlType]], name: str) -> Node:
    namespace, _, own = name.rpartition(".")
    record: dict[str, Any] = {"type": "record", "name": own}
    if namespace:
        record["namespace"] = namespace
    record["fields"] = [
        {
            "name": field_name.replace(".", "_"),
            "type": _optional(type_, f"{name}_{field_name}"),
            "default": None,
        }
        for field_name, type_ in fields
    ]
    record["connect.name"] = name
    return record


def _optional(type_: SqlType, name: str) -> Node:
    return ["null", _required(type_, name)]


def _required(type_: SqlType, name: str) -> Node:
    match type_:
        case StructType(fields):
            return _record([(f.name, f.type) for f in fields], name)
        case ArrayType(element):
            return {"type": "array", "items": _optional(element, name)}
        case MapType(key, value):
            return {"type": "array", "items": _entry(key, value, name)}
        case DecimalType(precision, scale):
            return _decimal(precision, scale)
        case _:
            return _WRITTEN[type_]


def _entry(key: SqlType, value: SqlType, name: str) -> Node:
    """Return the record for the entries of a map.

    Avro's own maps cannot hold NULL as a key, and maps of SQL can.
    """
    entry = _record([], name)
    entry["fields"] = [
        {"name": "key", "type": _optional(key, f"{name}_MapKey"), "default": None},
        {"name": "value", "type": _optional(value, f"{name}_MapValue"), "default": None},
    ]
    del entry["connect.name"]
    entry["connect.internal.type"] = _MAP_ENTRY
    return entry


def _decimal(precision: int, scale: int) -> Node:
    return {
        "type": "bytes",
        "scale": scale,
        "precision": precision,
        "connect.version": 1,
        "connect.parameters": {
            "scale": str(scale),
            "connect.decimal.precision": str(precision),
        },
        "connect.name": f"{_CONNECT}.Decimal",
        "logicalType": "decimal",
    }


def _logical(kind: str, connect: str, logical: str) -> Node:
    return {
        "type": kind,
        "connect.version": 1,
        "connect.name": f"{_CONNECT}.{connect}",
        "logicalType": logical,
    }


_WRITTEN: dict[SqlType, Node] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "long",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
    DATE: _logical("int", "Date", "date"),
    TIME: _logical("int", "Time", "time-millis"),
    TIMESTAMP: _logical("long", "Timestamp", "timestamp-millis"),
}


def as_field(column: Field) -> Field:
    """Return a column under the name that its field has in a schema."""
    return Field(column.name.replace(".", "_"), column.type)
