"""JSON on topics: plain values, dataclasses and other declared types, pydantic models."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import orjson

from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, HasColumnSerde
from penstock.serde.from_json import Hints, is_pydantic_model, reader_for
from penstock.serde.json_readers import Read
from penstock.serde.own_code import runs_own_code
from penstock.serde.shape import Shape, TypeShape
from penstock.serde.to_json import ANY_KEYS, check_finite, to_json

_loads = orjson.loads

# orjson reads integers beyond 64 bits as floats. One such integer has 19 digits or more, and
# looking for 19 digits in a row, after making all digits equal, is the cheapest check.
_SAME_DIGITS = bytes(48 if chr(byte) in "0123456789" else byte for byte in range(256))
_LONG_NUMBER = b"0" * 19
_BIG_INTEGER = re.compile(rb"[0-9]{20}|-[0-9]{19}")


@dataclass(frozen=True, slots=True)
class JsonSerde(Serde[Any]):
    """Dicts, lists and scalars as compact UTF-8 text; integers of any size.

    Also writes dataclasses and dates, but reads what JSON has: dicts and text.

    >>> JsonSerde().encode({"name": "Zoë", "tags": [1, None]}).decode()
    '{"name":"Zoë","tags":[1,null]}'
    """

    def encode(self, value: Any) -> bytes:
        return to_json(value)

    def decode(self, data: bytes) -> Any:
        # The same as ``_parse``, without the call: this is the hot path of JSON topics.
        try:
            value = _loads(data)
        except orjson.JSONDecodeError as error:
            raise _no_json(error) from None
        if data.translate(_SAME_DIGITS).count(_LONG_NUMBER):
            return _parse(data)
        return value


@dataclass(frozen=True, slots=True)
class TypedJsonSerde(Serde[Any], HasColumnSerde):
    """Values of a declared type: a dataclass, a typed dict, ``list[int]``, and so on.

    Reading checks the types, takes missing members from the defaults and leaves unknown
    members out. Decimals and bytes (base64) are text, sets are arrays in a fixed order.
    """

    of: Any
    #: The types of the members, found where the class was made; see ``reader_for``.
    hints: Hints = field(default_factory=dict, repr=False, compare=False)
    _read: Read = field(init=False, repr=False, compare=False)
    _class: type = field(init=False, repr=False, compare=False)
    _columns: ColumnSerde | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_read", reader_for(self.of, self.hints))
        object.__setattr__(self, "_class", self.of if is_dataclass(self.of) else object)
        columns = None if runs_own_code(self.of, self.hints) else ColumnSerde()
        object.__setattr__(self, "_columns", columns)

    def __reduce__(self) -> tuple[Any, ...]:
        # The reader is made of closures, which do not pickle. It is built again from the type and
        # the types of its members: a worker may not have the module where their names are known.
        return TypedJsonSerde, (self.of, self.hints)

    @property
    def column_serde(self) -> ColumnSerde | None:
        """What is known of the type; ``None`` if creating a value of it runs code of the user."""
        return self._columns

    @property
    def shape(self) -> Shape:
        return TypeShape(self.of, self.hints)

    @property
    def layout(self) -> str:
        # Reading checks the members by itself, and takes missing ones from the defaults.
        return "json"

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, self._class):
            raise _wrong_class(self._class, value)
        return to_json(value, ANY_KEYS)

    def decode(self, data: bytes) -> Any:
        return self._read(_parse(data))


@dataclass(frozen=True, slots=True)
class PydanticJsonSerde(Serde[Any]):
    """Instances of a pydantic model, written and checked by pydantic, under their aliases."""

    model: Any

    @property
    def shape(self) -> Shape:
        return TypeShape(self.model)

    @property
    def layout(self) -> str:
        return "json"

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, self.model):
            raise _wrong_class(self.model, value)
        data: bytes = value.model_dump_json(by_alias=True).encode()
        if b"null" in data:
            # Like orjson, pydantic writes NaN as null.
            check_finite(value.model_dump())
        return data

    def decode(self, data: bytes) -> Any:
        return self.model.model_validate_json(data)


def json_serde(declared: Any = None) -> Serde[Any]:
    """Choose the JSON serde for a declared type; None stands for any JSON value.

    Raises:
        InvalidArgumentError: if a part of the type has no JSON form.
    """
    if declared is None or declared is Any:
        return JsonSerde()
    if is_pydantic_model(declared):
        return PydanticJsonSerde(declared)
    return TypedJsonSerde(declared)


def has_long_number(data: bytes) -> bool:
    """Return whether so many digits are in a row that an integer may be beyond 64 bits."""
    return data.translate(_SAME_DIGITS).count(_LONG_NUMBER) > 0


def _parse(data: bytes) -> Any:
    try:
        value = _loads(data)
    except orjson.JSONDecodeError as error:
        raise _no_json(error) from None
    if data.translate(_SAME_DIGITS).count(_LONG_NUMBER) and _BIG_INTEGER.search(data):
        return json.loads(data)
    return value


def _no_json(error: Exception) -> ValueError:
    return ValueError(f"not JSON: {error}")


def _wrong_class(wanted: type, value: object) -> TypeError:
    return TypeError(f"JSON serde of {wanted.__name__} got {type(value).__name__} {value!r:.80}")
