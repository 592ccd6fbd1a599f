"""Functions for JSON in strings."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from penstock.model import java
from penstock.model.sql.types import (
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from penstock.model.time.calendar import format_date, format_time, format_timestamp
from penstock.sql.functions.declare import scalar

_MISSING = object()
_STEP = re.compile(r"\.([^.\[\]]+)|\[\s*(-?\d+)\s*\]|\[\s*['\"]([^'\"]*)['\"]\s*\]")


def _read(text: str) -> Any:
    """Read the JSON value that a text starts with; what follows it is ignored, as in ksqlDB."""
    return _DECODER.raw_decode(text.lstrip())[0]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _write(value: Any) -> str:
    """Write a JSON value without blanks, numbers as Java writes them."""
    match value:
        case bool() | None:
            return json.dumps(value)
        case Decimal():
            return str(value)
        case float():
            return java.double_text(value)
        case list():
            return f"[{','.join(_write(item) for item in value)}]"
        case dict():
            pairs = (f"{_write(str(k))}:{_write(v)}" for k, v in value.items())
            return f"{{{','.join(pairs)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


# Numbers keep the digits they are written with.
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str | int, ...]:
    if not path.startswith("$"):
        raise ValueError(f"path {path!r} does not start with $")
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(f"path {path!r} is not a JSON path")
        steps.append(int(match[2]) if match[2] else match[1] or match[3])
        position = match.end()
    return tuple(steps)


@scalar("EXTRACTJSONFIELD", "STRING, STRING -> STRING")
def extract_json_field(text: str, path: str) -> str | None:
    """Return the value at a path such as $.user.name of a JSON text."""
    value = _read(text)
    for step in _steps(path):
        value = _child(value, step)
        if value is _MISSING:
            return None
    return value if isinstance(value, str) else _write(value)


def _child(value: Any, step: str | int) -> Any:
    # The value decides what a step means: $.xs.0 is an element, $.x[0] may be a field.
    if isinstance(value, list):
        index = int(step) if str(step).isdigit() else -1
        return value[index] if 0 <= index < len(value) else _MISSING
    return value.get(str(step), _MISSING) if isinstance(value, dict) else _MISSING


@scalar("IS_JSON_STRING", "STRING -> BOOLEAN", takes_null=True)
def is_json_string(text: str | None) -> bool:
    """Return whether a text is JSON, or starts with it."""
    if text is None:
        return False
    start = text.lstrip()
    try:
        value, end = _DECODER.raw_decode(start)
    except ValueError:
        return False
    # A bracket or a quote always ends a value; a number or a word ends with a blank.
    return isinstance(value, str | list | dict) or not start[end : end + 1].strip()


@scalar("JSON_ARRAY_CONTAINS", "STRING, A -> BOOLEAN", takes_null=True)
def json_array_contains(text: str | None, wanted: Any) -> bool:
    """Return whether a JSON array has an element."""
    try:
        array = None if text is None else _read(text)
    except ValueError:
        return False
    return isinstance(array, list) and any(_is_same(item, wanted) for item in array)


def _is_same(item: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return isinstance(item, Decimal) and float(item) == wanted
    # A DECIMAL never equals an element: ksqlDB reads numbers with a fraction as DOUBLEs.
    is_plain = wanted is None or isinstance(wanted, bool | int | str)
    return is_plain and type(item) is type(wanted) and bool(item == wanted)


@scalar("JSON_ARRAY_LENGTH", "STRING -> INTEGER")
def json_array_length(text: str) -> int | None:
    """Count the elements of a JSON array."""
    array = _read(text)
    return len(array) if isinstance(array, list) else None


@scalar("JSON_ITEMS", "STRING -> ARRAY<STRING>")
def json_items(text: str) -> list[str] | None:
    """Return the elements of a JSON array, each as JSON."""
    array = _read(text)
    return [_write(item) for item in array] if isinstance(array, list) else None


@scalar("JSON_KEYS", "STRING -> ARRAY<STRING>")
def json_keys(text: str) -> list[str] | None:
    """Return the keys of a JSON object."""
    value = _read(text)
    return list(value) if isinstance(value, dict) else None


@scalar("JSON_RECORDS", "STRING -> MAP<STRING, STRING>")
def json_records(text: str) -> dict[str, str] | None:
    """Return the entries of a JSON object, strings as they are and other values as JSON."""
    value = _read(text)
    if not isinstance(value, dict):
        return None
    return {k: v if isinstance(v, str) else _write(v) for k, v in value.items()}


@scalar("JSON_CONCAT", "STRING... -> STRING")
def json_concat(*texts: str) -> str | None:
    """Join JSON objects into one object, and anything else into one array."""
    if not texts:
        return None
    values = [_read(text) for text in texts]
    if all(isinstance(value, dict) for value in values):
        return _write({k: v for value in values for k, v in value.items()})
    return _write(
        [item for value in values for item in (value if isinstance(value, list) else [value])]
    )


def _json_string(types: Sequence[Any]) -> Callable[[Any], str]:
    """Write any value as JSON."""
    return _form(types[0]) if types[0] is not None else _plain


scalar("TO_JSON_STRING", "ANY -> STRING", takes_null=True, is_typed=True)(_json_string)


def _plain(value: Any) -> str:
    return _write(value)


def _form(type_: SqlType) -> Callable[[Any], str]:
    """Return the function that converts a value of a type to JSON."""
    write = _inner_form(type_)
    return lambda value: "null" if value is None else write(value)


def _inner_form(type_: SqlType) -> Callable[[Any], str]:
    match type_:
        case DecimalType():
            return java.decimal_text
        case ArrayType(element):
            item = _form(element)
            return lambda values: f"[{','.join(item(value) for value in values)}]"
        case MapType(_, value_type):
            inner = _form(value_type)
            return lambda m: _object([(str(k), inner(v)) for k, v in m.items()])
        case StructType(fields):
            forms = [(field.name, _form(field.type)) for field in fields]
            return lambda s: _object([(name, form(s.get(name))) for name, form in forms])
        case _:
            return _SCALAR_FORMS.get(type_, _plain)


def _object(entries: list[tuple[str, str]]) -> str:
    """Write an object; ksqlDB sorts its entries, so that equal values have equal text."""
    return f"{{{','.join(f'{_write(key)}:{form}' for key, form in sorted(entries))}}}"


_SCALAR_FORMS: dict[SqlType, Callable[[Any], str]] = {
    BYTES: lambda value: _write(base64.b64encode(value).decode("ascii")),
    DATE: lambda value: _write(format_date(value)),
    TIME: lambda value: _write(format_time(value)),
    TIMESTAMP: lambda value: _write(format_timestamp(value)),
    DOUBLE: java.double_text,
}
