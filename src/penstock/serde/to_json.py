"""From Python values to JSON text. Reading: ``penstock.serde.from_json``."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import orjson

#: Allow member names that are not text. Only a declared type can read them again.
ANY_KEYS = orjson.OPT_NON_STR_KEYS


def to_json(value: Any, option: int = 0) -> bytes:
    """Return compact UTF-8 text with members in their order. Equal values have equal text.

    Raises:
        TypeError: for a value that has no JSON form.
        ValueError: for NaN and infinities, which JSON does not have.
    """
    try:
        data = orjson.dumps(value, _form, option)
    except orjson.JSONEncodeError as error:
        if "64-bit" not in str(error):
            raise TypeError(_reason(error)) from error
        data = _to_json_slowly(value, option)
    # orjson writes NaN as null without an error. ``count`` takes half the time of ``in``.
    if data.count(b"null"):
        check_finite(value)
    # A copy, because orjson's text keeps its buffer of four kilobytes.
    return b"%b" % data


def _form(value: Any) -> Any:
    """Return the JSON form of a value that orjson cannot write."""
    if isinstance(value, (set, frozenset)):
        # The order of a set differs between processes; the bytes must not.
        return sorted(value, key=lambda item: to_json(item, ANY_KEYS))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode()
    if isinstance(value, tuple):
        return _members(value) if hasattr(value, "_fields") else list(value)
    if hasattr(value, "__pydantic_serializer__"):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"no JSON form of {type(value).__name__}")


def _reason(error: Exception) -> str:
    text = str(error)
    if text == "Dict key must be str":
        return "a dict key is not a str: declare the type, as in json(dict[int, str])"
    return f"no JSON form: {text[0].lower()}{text[1:]}"


def _members(value: Any) -> dict[str, Any] | None:
    """Return the members of a dataclass or a named tuple, None for anything else."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _to_json_slowly(value: Any, option: int) -> bytes:
    """Do the same with the standard library, which writes integers of any size."""
    check_finite(value)
    plain = _plain(value, option)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any, option: int) -> Any:
    if isinstance(value, int) or value is None:
        return value
    members = _members(value) or (value if isinstance(value, dict) else None)
    if members is not None:
        return {_name(name, option): _plain(member, option) for name, member in members.items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=lambda item: _to_json_slowly(item, option))
    if isinstance(value, (list, tuple)):
        return [_plain(item, option) for item in value]
    return orjson.loads(to_json(value, option))


def _name(name: Any, option: int) -> str:
    if isinstance(name, str):
        return name
    names: dict[str, Any] = orjson.loads(to_json({name: 0}, option))
    return next(iter(names))


def check_finite(value: Any, path: str = "$") -> None:
    """Raise ValueError, with its path, for the first NaN or infinity in a value."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"at {path}: JSON has no {value}")
    elif isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_fields"):
        for position, item in enumerate(value):
            check_finite(item, f"{path}[{position}]")
    elif members := value if isinstance(value, dict) else _members(value):
        for name, member in members.items():
            check_finite(member, f"{path}.{name}")
