"""Rows described by an Avro schema, with hints in ``arg.properties`` for the values.

A hint is ``options`` (a list), ``range`` (``min``, ``max``), ``iteration`` (``start``, ``step``,
``restart``), ``regex``, ``length`` (a number, or ``min`` and ``max``), ``odds`` of a boolean, and
``items`` or ``values`` for what is inside an array or map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from penstock.cli.datagen.generators import (
    Generate,
    RowContext,
    boolean,
    choice,
    counter,
    fraction,
    letters,
    listed,
    mapped,
    random_bytes,
    row_time,
    sometimes,
    struct,
    whole,
)
from penstock.cli.datagen.patterns import pattern
from penstock.cli.datagen.row_plan import GeneratedColumn, RowPlan
from penstock.errors import InvalidArgumentError
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

_DAY_MS = 86_400_000
_NULL_ODDS = 0.1
Made = tuple[SqlType, Generate]


def read_schema(file: Path, topic: str | None, key: str | None) -> RowPlan:
    """Return the rows that a schema file describes; its record's name is the default topic.

    Raises:
        InvalidArgumentError: ``bad-schema-file``.
    """
    return _plan(file, _read(file), topic, key)


def read_schemas(file: Path) -> list[RowPlan]:
    """Return the rows of a file with one schema or a list of them; the names are the topics.

    Raises:
        InvalidArgumentError: ``bad-schema-file``.
    """
    found = _read(file)
    schemas = found if isinstance(found, list) else [found]
    return [_plan(file, schema, None, None) for schema in schemas]


def _read(file: Path) -> Any:
    try:
        return orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise _bad(file, f"cannot be read as JSON: {error}") from None


def _plan(file: Path, schema: Any, topic: str | None, key: str | None) -> RowPlan:
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise _bad(file, "is not the schema of a record")
    try:
        columns = tuple(
            GeneratedColumn(str(each["name"]).upper(), *made(each["type"], each))
            for each in schema["fields"]
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise _bad(file, f"is not an Avro schema: {error!r}") from None
    chosen = key or columns[0].name
    return RowPlan(topic or str(schema.get("name") or file.stem), chosen.upper(), columns)


def _bad(file: Path, why: str) -> InvalidArgumentError:
    return InvalidArgumentError("bad-schema-file", f"{str(file)!r} {why}")


def made(schema: Any, outer: Mapping[str, Any] | None = None) -> Made:
    """Return the SQL type of a schema and the generator of its values."""
    if isinstance(schema, list):
        return _union(schema, outer)
    data: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {"type": schema}
    if isinstance(data.get("type"), Mapping | list):
        return made(data["type"], data)
    hints = {**(outer or {}).get("arg.properties", {}), **data.get("arg.properties", {})}
    logical = data.get("logicalType")
    if logical in _LOGICAL:
        return _hinted(_LOGICAL[logical](data, hints), hints)
    name = str(data["type"])
    if name not in _KINDS:
        raise InvalidArgumentError("bad-schema-file", f"type {name!r} is not known")
    return _hinted(_KINDS[name](data, hints), hints)


def _union(schema: list[Any], outer: Mapping[str, Any] | None) -> Made:
    inner = [each for each in schema if each != "null"]
    if len(inner) != 1:
        raise InvalidArgumentError(
            "bad-schema-file", "a union may have one type besides null", fix="use one type"
        )
    type_, generate = made(inner[0], outer)
    return type_, sometimes(generate, _NULL_ODDS) if len(inner) < len(schema) else generate


def _hinted(default: Made, hints: Mapping[str, Any]) -> Made:
    """Return a type with the generator that the hints ask for, or with its own."""
    type_, generate = default
    if "options" in hints:
        return type_, choice(list(hints["options"]))
    if "regex" in hints:
        return type_, pattern(str(hints["regex"]))
    if "iteration" in hints:
        given = hints["iteration"]
        start, step = int(given.get("start", 0)), int(given.get("step", 1))
        restart = given.get("restart")
        rows = None if restart is None else max(1, (int(restart) - start) // step)
        return type_, _as(type_, counter(start, step, rows))
    return type_, generate


def _as(type_: SqlType, generate: Generate) -> Generate:
    """Make numbers of a generator fit a type: a counter may also fill text or a DOUBLE."""
    if type_ == STRING:
        return lambda row: str(generate(row))
    return (lambda row: float(generate(row))) if type_ == DOUBLE else generate


def _range(hints: Mapping[str, Any], least: Any, most: Any) -> tuple[Any, Any]:
    given = hints.get("range") or {}
    return given.get("min", least), given.get("max", most)


def _length(hints: Mapping[str, Any], least: int, most: int) -> tuple[int, int]:
    given = hints.get("length")
    if isinstance(given, int):
        return given, given
    return int((given or {}).get("min", least)), int((given or {}).get("max", most))


def _whole(type_: SqlType, most: int) -> Callable[[Any, Mapping[str, Any]], Made]:
    def make(data: Any, hints: Mapping[str, Any]) -> Made:
        low, high = _range(hints, 0, most)
        return type_, whole(int(low), int(high))

    return make


def _double(data: Any, hints: Mapping[str, Any]) -> Made:
    low, high = _range(hints, 0.0, 1.0)
    return DOUBLE, fraction(float(low), float(high))


def _decimal(data: Mapping[str, Any], hints: Mapping[str, Any]) -> Made:
    precision, scale = int(data["precision"]), int(data.get("scale", 0))
    low, high = _range(hints, 0, 10 ** (precision - scale) - 1)
    unit = Decimal(1).scaleb(-scale)
    factor = 10**scale

    def generate(row: RowContext) -> Decimal:
        return row.random.randint(int(low * factor), int(high * factor)) * unit

    return DecimalType(precision, scale), generate


def _array(data: Mapping[str, Any], hints: Mapping[str, Any]) -> Made:
    type_, item = made(data["items"], {"arg.properties": hints.get("items") or {}})
    return ArrayType(type_), listed(item, *_length(hints, 0, 5))


def _map(data: Mapping[str, Any], hints: Mapping[str, Any]) -> Made:
    type_, value = made(data["values"], {"arg.properties": hints.get("values") or {}})
    keys = hints.get("keys") or {}
    key = choice(list(keys["options"])) if "options" in keys else letters(3, 8)
    return MapType(STRING, type_), mapped(key, value, *_length(hints, 0, 5))


def _record(data: Mapping[str, Any], hints: Mapping[str, Any]) -> Made:
    found = {str(each["name"]).upper(): made(each["type"], each) for each in data["fields"]}
    fields = tuple(Field(name, type_) for name, (type_, _) in found.items())
    return StructType(fields), struct({name: generate for name, (_, generate) in found.items()})


_KINDS: dict[str, Callable[[Any, Mapping[str, Any]], Made]] = {
    "boolean": lambda data, hints: (BOOLEAN, boolean(float(hints.get("odds", 0.5)))),
    "int": _whole(INTEGER, 1_000_000),
    "long": _whole(BIGINT, 1_000_000_000),
    "float": _double,
    "double": _double,
    "string": lambda data, hints: (STRING, letters(*_length(hints, 5, 12))),
    "bytes": lambda data, hints: (BYTES, random_bytes(*_length(hints, 5, 12))),
    "fixed": lambda data, hints: (BYTES, random_bytes(int(data["size"]), int(data["size"]))),
    "enum": lambda data, hints: (STRING, choice(list(data["symbols"]))),
    "array": _array,
    "map": _map,
    "record": _record,
}
_LOGICAL: dict[str, Callable[[Any, Mapping[str, Any]], Made]] = {
    "date": lambda data, hints: (DATE, lambda row: row.time_ms // _DAY_MS),
    "time-millis": lambda data, hints: (TIME, lambda row: row.time_ms % _DAY_MS),
    "timestamp-millis": lambda data, hints: (TIMESTAMP, row_time()),
    "decimal": _decimal,
}
