"""Format JSON_SR: JSON that is read by the schema it was written with."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from penstock.formats.json.json_codec import writer
from penstock.formats.json.json_schema import JsonSchema, Node, alternatives, is_map
from penstock.formats.json.json_values import parse, parse_exactly
from penstock.formats.wire import Wire, WireDecimal, WireScalar
from penstock.model import java
from penstock.model.sql.types import ArrayType, Field, MapType, SqlType, StructType

Convert = Callable[[Any], Any]


def json_reader(schema: JsonSchema) -> Callable[[bytes], Any]:
    """Return the function from JSON text to a wire value of the schema."""
    convert = _reader(schema, schema.root)
    load = parse_exactly if _has_decimal(schema.wire()) else parse

    def read(data: bytes) -> Any:
        value = load(data)
        return None if value is None else convert(value)

    return read


def _has_decimal(wire: Wire) -> bool:
    return isinstance(wire, WireDecimal) or any(
        _has_decimal(part)
        for slot in getattr(wire, "__dataclass_fields__", ())
        for part in _parts(getattr(wire, slot))
    )


def _parts(value: Any) -> list[Wire]:
    if isinstance(value, tuple):
        return [field.type for field in value]
    return [value] if not isinstance(value, int | str) else []


def _reader(schema: JsonSchema, node: Any) -> Convert:
    node = schema.resolved(node)
    if len(alternatives(node)) > 1:
        return _union_reader(schema, node)
    if is_map(node):
        return _map_reader(schema, node)
    if "enum" in node or "const" in node:
        return str
    if node.get("type") == "array":
        each = _reader(schema, node["items"])
        return _checked(list, lambda values: [None if v is None else each(v) for v in values])
    if node.get("type") in ("object", None):
        return _object_reader(schema, node)
    wire = schema.wire(node)
    if isinstance(wire, WireDecimal):
        return _decimal
    assert isinstance(wire, WireScalar)
    return _SCALARS[wire]


def _object_reader(schema: JsonSchema, node: Node) -> Convert:
    plan = [(name, _reader(schema, part)) for name, part in schema.members(node)]

    def read(members: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if members.get(name) is None else convert(members[name])
            for name, convert in plan
        }

    return _checked(dict, read)


def _map_reader(schema: JsonSchema, node: Node) -> Convert:
    """Return the reader of a map: an object, or an array of entries when keys may be null."""
    if node.get("type") == "object":
        each = _reader(schema, node["additionalProperties"])
        return _checked(
            dict, lambda items: {k: None if v is None else each(v) for k, v in items.items()}
        )
    entry = schema.resolved(node["items"])["properties"]
    of_key, of_value = _reader(schema, entry["key"]), _reader(schema, entry["value"])

    def read(entries: list[Any]) -> dict[Any, Any]:
        found = {}
        for each in entries:
            if not isinstance(each, dict) or each.keys() != {"key", "value"}:
                raise ValueError("an entry of a map is not an object with key and value")
            key, value = each["key"], each["value"]
            found[None if key is None else of_key(key)] = None if value is None else of_value(value)
        return found

    return _checked(list, read)


def _union_reader(schema: JsonSchema, node: Node) -> Convert:
    names = [field.name for field in schema.wire(node).fields]  # type: ignore[union-attr]
    branches = schema.branches(node)
    plan = [
        (name, _fits(schema, branch), _reader(schema, branch))
        for name, branch in zip(names, branches, strict=True)
    ]

    def read(value: Any) -> dict[str, Any]:
        best, best_convert, most = None, None, 0
        for name, fits, convert in plan:
            degree = fits(value)
            if degree > most:
                best, best_convert, most = name, convert, degree
        if best_convert is None:
            raise ValueError("the value is none of the alternatives of its schema")
        return {name: best_convert(value) if name == best else None for name in names}

    return read


# A scalar fits by its class. Of several object schemas, the one with most known members fits.
_AT_ONCE = 1_000_000


def _fits(schema: JsonSchema, node: Node) -> Callable[[Any], int]:
    kind = node.get("type")
    if kind in ("object", None) and not is_map(node):
        names = {name for name, _ in schema.members(node)}
        return lambda value: len(names & value.keys()) if isinstance(value, dict) else 0
    wanted = _CLASSES.get(str(kind), ())
    return lambda value: _AT_ONCE if type(value) in wanted else 0


_CLASSES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float, Decimal),
    "boolean": (bool,),
    "string": (str,),
    "array": (list,),
    "object": (dict, list),
}


def _checked(kind: type, convert: Convert) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"expected {kind.__name__} by the schema, got {value!r:.40}")
        return convert(value)

    return read


def _whole(bits: Callable[[int], int]) -> Convert:
    def read(value: Any) -> int:
        if type(value) not in (int, float, Decimal):
            raise ValueError(f"expected a number by the schema, got {value!r:.40}")
        return bits(int(value))

    return read


def _fraction(value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        # The writer's texts for what is not finite, for which JSON has no numbers.
        return float(value)
    if type(value) not in (int, float, Decimal):
        raise ValueError(f"expected a number by the schema, got {value!r:.40}")
    return float(value)


def _decimal(value: Any) -> Decimal:
    if type(value) not in (int, Decimal):
        raise ValueError(f"expected a decimal number by the schema, got {value!r:.40}")
    return Decimal(value)


def _bytes(value: Any) -> bytes:
    try:
        return a2b_base64(value, strict_mode=True)
    except (Base64Error, TypeError):
        raise ValueError(f"{value!r:.40} is not base64") from None


def _same(value: Any) -> Any:
    return value


_SCALARS: dict[WireScalar, Convert] = {
    WireScalar.BOOLEAN: _checked(bool, _same),
    WireScalar.INT: _whole(java.wrap_int),
    WireScalar.LONG: _whole(java.wrap_long),
    WireScalar.FLOAT: _fraction,
    WireScalar.DOUBLE: _fraction,
    WireScalar.STRING: _checked(str, _same),
    WireScalar.BYTES: _bytes,
    WireScalar.DATE: _whole(java.wrap_int),
    WireScalar.TIME: _whole(java.wrap_int),
    WireScalar.TIMESTAMP: _whole(java.wrap_long),
}


def json_writer(
    schema: JsonSchema, columns: Sequence[Field], *, is_unwrapped: bool
) -> Callable[[Any], bytes]:
    """Return the function from rows to JSON text of the schema.

    Raises:
        ValueError: when the schema has no place for a column.
    """
    if is_unwrapped:
        single = _writer(schema, schema.root, columns[0].type)
        return lambda row: orjson.dumps(single(row[0]))
    write = _struct_writer(schema, schema.resolved(schema.root), columns)
    names = [column.name for column in columns]
    return lambda row: orjson.dumps(write(dict(zip(names, row, strict=True))))


def _struct_writer(schema: JsonSchema, node: Node, fields: Sequence[Field]) -> Convert:
    members = dict(schema.members(node))
    for each in fields:
        if each.name not in members:
            raise ValueError(f"the registered schema has no field {each.name!r}")
    plan = [(f.name, _writer(schema, members[f.name], f.type)) for f in fields]

    def write(struct: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if struct.get(name) is None else convert(struct[name])
            for name, convert in plan
        }

    return write


def _writer(schema: JsonSchema, node: Any, type_: SqlType) -> Convert:
    node = schema.resolved(node)
    match type_:
        case StructType(fields):
            return _struct_writer(schema, node, fields)
        case ArrayType(element) if node.get("type") == "array":
            each = _writer(schema, node["items"], element)
            return lambda values: [None if v is None else each(v) for v in values]
        case MapType(_, value) if is_map(node):
            return _map_writer(schema, node, value)
        case ArrayType() | MapType():
            raise ValueError(f"a {type_} cannot be written as JSON Schema's {node.get('type')!r}")
        case _:
            return writer(type_, finite=False) or _same


def _map_writer(schema: JsonSchema, node: Node, type_: SqlType) -> Convert:
    if node.get("type") == "object":
        each = _writer(schema, node["additionalProperties"], type_)
        return lambda items: {k: None if v is None else each(v) for k, v in items.items()}
    of_value = _writer(schema, schema.resolved(node["items"])["properties"]["value"], type_)
    return lambda items: [
        {"key": k, "value": None if v is None else of_value(v)} for k, v in items.items()
    ]
