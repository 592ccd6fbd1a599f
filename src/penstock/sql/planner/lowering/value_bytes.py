"""SQL values as bytes that are equal exactly if the values are, for keys of stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from penstock.model.sql.types import ArrayType, MapType, SqlType, StructType
from penstock.sql.planner.lowering.sort_bytes import Encode, sort_encoder


def value_encoder(type_: SqlType, *, is_descending: bool = False) -> Encode:
    """Return the function from a value to its bytes. Those of plain values sort as they do.

    An array, a map or a struct becomes JSON: maps are sorted, structs have the fields of the type.
    """
    if not isinstance(type_, ArrayType | MapType | StructType):
        return sort_encoder(type_, is_descending=is_descending, nulls_first=False)
    plain = _plain(type_)
    return lambda value: orjson.dumps(plain(value))


def _plain(type_: SqlType) -> Callable[[Any], Any]:
    """Return the function from a value to JSON; what is not a collection becomes text."""
    match type_:
        case ArrayType(element):
            item = _plain(element)
            return lambda value: None if value is None else [item(each) for each in value]
        case MapType(key, value_type):
            one, other = _plain(key), _plain(value_type)

            def pairs(value: Any) -> Any:
                if value is None:
                    return None
                return sorted(([one(k), other(v)] for k, v in value.items()), key=orjson.dumps)

            return pairs
        case StructType(fields):
            members = [(each.name, _plain(each.type)) for each in fields]
            return lambda value: (
                None if value is None else [plain(value.get(name)) for name, plain in members]
            )
        case _:
            encode = sort_encoder(type_, is_descending=False, nulls_first=False)
            return lambda value: None if value is None else encode(value).hex()
