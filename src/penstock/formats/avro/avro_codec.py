"""Reads Avro records as wire values, and writes rows as Avro records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer

from penstock.formats.avro.avro_schema import AvroSchema, Node, is_map_entry
from penstock.model import java
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

Convert = Callable[[Any], Any]


def avro_reader(schema: AvroSchema) -> Callable[[bytes], Any]:
    """Return the function from bytes to a wire value of the schema."""
    parsed = _parsed(schema)
    convert = _from_avro(schema, schema.root) or _same

    def read(data: bytes) -> Any:
        try:
            value = schemaless_reader(BytesIO(data), parsed, None)
        except (EOFError, IndexError, OverflowError, UnicodeDecodeError, MemoryError) as error:
            raise ValueError(f"not Avro of the schema: {error!r}") from None
        return None if value is None else convert(value)

    return read


def _parsed(schema: AvroSchema) -> Any:
    """Return the schema for fastavro, without logical types: this module converts them."""
    return parse_schema(_inlined(schema, schema.root, set(), ""))


def _inlined(schema: AvroSchema, node: Node, seen: set[str], namespace: str) -> Node:
    """Return the schema with every named type written out where it is first used."""
    if isinstance(node, str):
        if node in seen or schema.resolved(node) is node:
            return node
        return _inlined(schema, schema.resolved(node), seen, namespace)
    if isinstance(node, list):
        return [_inlined(schema, branch, seen, namespace) for branch in node]
    plain = {
        key: value
        for key, value in node.items()
        if key in ("type", "name", "namespace", "symbols", "size")
    }
    if "name" in node:
        namespace = node.get("namespace", namespace)
        if "." in node["name"]:
            namespace = node["name"].rpartition(".")[0]
        seen |= {node["name"], f"{namespace}.{node['name']}"}
    for part in ("items", "values"):
        if part in node:
            plain[part] = _inlined(schema, node[part], seen, namespace)
    if "fields" in node:
        plain["fields"] = [
            {k: v for k, v in field.items() if k in ("name", "default")}
            | {"type": _inlined(schema, field["type"], seen, namespace)}
            for field in node["fields"]
        ]
    return plain


def _from_avro(schema: AvroSchema, node: Node) -> Convert | None:
    """Return the function from fastavro's value to the wire's; None if they are the same."""
    node = schema.resolved(node)
    if isinstance(node, list):
        return _union_reader(schema, node)
    if isinstance(node, str):
        return None
    match node["type"]:
        case "record" | "error":
            fields = [(f["name"], _from_avro(schema, f["type"])) for f in node["fields"]]
            changed = [(name, convert) for name, convert in fields if convert]
            return _record_reader(changed) if changed else None
        case "array":
            items = schema.resolved(node["items"])
            if is_map_entry(items):
                return _entries_reader(schema, items)
            each = _from_avro(schema, items)
            return each and _each(each)
        case "map":
            of_value = _from_avro(schema, node["values"])
            return of_value and _values(of_value)
        case "bytes" | "fixed" if "decimal" in str(node.get("logicalType")):
            return _decimal_reader(int(node.get("scale", 0)))
        case _:
            return None


def _record_reader(changed: Sequence[tuple[str, Convert]]) -> Convert:
    def read(record: dict[str, Any]) -> dict[str, Any]:
        for name, convert in changed:
            if record[name] is not None:
                record[name] = convert(record[name])
        return record

    return read


def _entries_reader(schema: AvroSchema, entry: Node) -> Convert:
    (key, of_key), (value, of_value) = (
        (f["name"], _from_avro(schema, f["type"]) or _same) for f in entry["fields"]
    )
    return lambda entries: {
        None if e[key] is None else of_key(e[key]): None if e[value] is None else of_value(e[value])
        for e in entries
    }


def _decimal_reader(scale: int) -> Convert:
    scaleb = java.EXACT.scaleb
    return lambda data: scaleb(Decimal(int.from_bytes(data, "big", signed=True)), -scale)


def _union_reader(schema: AvroSchema, branches: list[Node]) -> Convert | None:
    there = [branch for branch in branches if schema.resolved(branch) != "null"]
    if len(there) == 1:
        return _from_avro(schema, there[0])
    plan = [
        (schema.branch_name(b), _python_test(schema, b), _from_avro(schema, b) or _same)
        for b in there
    ]

    def read(value: Any) -> dict[str, Any]:
        found: dict[str, Any] = {name: None for name, _, _ in plan}
        for name, is_it, convert in plan:
            if is_it(value):
                found[name] = convert(value)
                break
        return found

    return read


_CLASSES: dict[str, type] = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "string": str,
    "enum": str, "bytes": bytes, "fixed": bytes, "array": list, "map": dict,
}  # fmt: skip


def _python_test(schema: AvroSchema, node: Node) -> Callable[[Any], bool]:
    """Return the function that tells whether a value of a union belongs to this branch."""
    node = schema.resolved(node)
    kind = node if isinstance(node, str) else node["type"]
    if kind == "record":
        names = {f["name"] for f in node["fields"]}
        return lambda value: isinstance(value, dict) and value.keys() == names
    wanted = _CLASSES[kind]
    return lambda value: type(value) is wanted


def avro_writer(
    schema: AvroSchema, columns: Sequence[Field], *, is_unwrapped: bool
) -> Callable[[Any], bytes]:
    """Return the function from rows to bytes.

    Raises:
        ValueError: when the schema has no field for a column, or has a required field without
            a column.
    """
    parsed = _parsed(schema)
    if is_unwrapped:
        single = _to_avro(schema, schema.root, columns[0].type) or _same
        return _written(parsed, lambda row: single(row[0]))
    root = schema.resolved(schema.root)
    if isinstance(root, list):
        root = schema.resolved(next(b for b in root if b != "null"))
    if not isinstance(root, dict) or root["type"] != "record":
        raise ValueError("the schema is not a record, so it cannot hold columns")
    return _written(parsed, _row_writer(schema, root, columns))


def _written(parsed: Any, prepare: Convert) -> Callable[[Any], bytes]:
    def write(row: Any) -> bytes:
        out = BytesIO()
        try:
            schemaless_writer(out, parsed, prepare(row))
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"the row does not fit its Avro schema: {error}") from None
        return out.getvalue()

    return write


@dataclass(frozen=True, slots=True)
class _Place:
    """The field of a column in a record. If not ``keeps_null``, NULL is written as the default."""

    name: str
    convert: Convert | None
    keeps_null: bool


def _row_writer(schema: AvroSchema, record: Node, columns: Sequence[Field]) -> Convert:
    places = _places(schema, record, columns)
    names = [place.name for place in places]
    if all(place.keeps_null and not place.convert for place in places):
        return lambda row: dict(zip(names, row, strict=True))
    return _record_writer(places)


def _record_writer(places: Sequence[_Place]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    plan = [(place.name, place.convert or _same, place.keeps_null) for place in places]

    def write(values: Sequence[Any]) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for (name, convert, keeps_null), value in zip(plan, values, strict=True):
            if value is not None:
                record[name] = convert(value)
            elif keeps_null:
                record[name] = None
        return record

    return write


def _places(schema: AvroSchema, record: Node, columns: Sequence[Field]) -> list[_Place]:
    """Find the field of each column. Fields without a column must have a default or allow null."""
    fields = {f["name"]: f for f in record["fields"]}
    places = []
    for column in columns:
        name = column.name.replace(".", "_")
        if name not in fields:
            raise ValueError(f"the registered schema has no field {name!r}")
        field = fields.pop(name)
        keeps_null = _is_nullable(field) or "default" not in field
        places.append(_Place(name, _to_avro(schema, field["type"], column.type), keeps_null))
    for name, field in fields.items():
        if "default" not in field and not _is_nullable(field):
            raise ValueError(f"the registered schema wants a field {name!r}, which has no default")
    return places


def _is_nullable(field: Node) -> bool:
    return isinstance(field["type"], list) and "null" in field["type"]


# Which Avro types a scalar column can be written as.
_WRITABLE: dict[SqlType, tuple[str, ...]] = {
    BOOLEAN: ("boolean",),
    INTEGER: ("int", "long"),
    DATE: ("int",),
    TIME: ("int",),
    BIGINT: ("long",),
    TIMESTAMP: ("long",),
    DOUBLE: ("double", "float"),
    STRING: ("string", "enum"),
    BYTES: ("bytes", "fixed"),
}


def _to_avro(schema: AvroSchema, node: Node, type_: SqlType) -> Convert | None:
    """Return the function from a SQL value to fastavro's; None if they are the same."""
    node = schema.resolved(node)
    if isinstance(node, list):
        return _to_branch(schema, node, type_)
    kind = node if isinstance(node, str) else node["type"]
    if isinstance(type_, DecimalType) and kind in ("bytes", "fixed"):
        return _decimal_writer(int(node.get("scale", 0)) if isinstance(node, dict) else 0)
    match kind, type_:
        case "record", StructType(fields):
            names = [field.name for field in fields]
            write = _record_writer(_places(schema, node, fields))
            return lambda struct: write([struct.get(name) for name in names])
        case "array", ArrayType(element):
            each = _to_avro(schema, node["items"], element)
            return each and _each(each)
        case "array", MapType(key, value) if is_map_entry(schema.resolved(node["items"])):
            entry = schema.resolved(node["items"])["fields"]
            return _entries_writer(
                _to_avro(schema, entry[0]["type"], key) or _same,
                _to_avro(schema, entry[1]["type"], value) or _same,
            )
        case "map", MapType(_, value):
            of_value = _to_avro(schema, node["values"], value)
            return of_value and _values(of_value)
        case _ if kind in _WRITABLE.get(type_, ()):
            return None
        case _:
            raise ValueError(f"a {type_} cannot be written as Avro's {kind!r}")


def _to_branch(schema: AvroSchema, branches: list[Node], type_: SqlType) -> Convert | None:
    error = ValueError(f"no branch of the union can hold a {type_}")
    for branch in branches:
        if schema.resolved(branch) == "null":
            continue
        try:
            return _to_avro(schema, branch, type_)
        except ValueError as reason:
            error = reason
    raise error


def _decimal_writer(scale: int) -> Convert:
    def write(value: Decimal) -> bytes:
        unscaled = int(java.EXACT.scaleb(value, scale))
        return unscaled.to_bytes(
            (unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True
        )

    return write


def _entries_writer(of_key: Convert, of_value: Convert) -> Convert:
    return lambda items: [
        {
            "key": None if k is None else of_key(k),
            "value": None if v is None else of_value(v),
        }
        for k, v in items.items()
    ]


def _each(convert: Convert) -> Convert:
    return lambda values: [None if value is None else convert(value) for value in values]


def _values(convert: Convert) -> Convert:
    return lambda items: {k: None if v is None else convert(v) for k, v in items.items()}


def _same(value: Any) -> Any:
    return value
