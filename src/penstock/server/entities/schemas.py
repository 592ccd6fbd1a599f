"""Types and columns as ksqlDB's JSON describes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.model.sql.types import ArrayType, DecimalType, MapType, SqlType, StructType
from penstock.sql.catalog.schema import SourceColumn

_BASE_NAMES = {"VARCHAR": "STRING", "INT": "INTEGER"}


def schema_info(type_: SqlType) -> dict[str, Any]:
    """Return a type as clients read it.

    >>> from penstock.model.sql.types import BIGINT, ArrayType
    >>> schema_info(ArrayType(BIGINT))["memberSchema"]["type"]
    'BIGINT'
    """
    match type_:
        case DecimalType(precision, scale):
            parameters = {"precision": precision, "scale": scale}
            return {**_info("DECIMAL"), "parameters": parameters}
        case ArrayType(element):
            return _info("ARRAY", member=schema_info(element))
        case MapType(_, value):
            return _info("MAP", member=schema_info(value))
        case StructType(fields):
            named = [{"name": f.name, "schema": schema_info(f.type)} for f in fields]
            return _info("STRUCT", fields=named)
        case _:
            name = str(type_)
            return _info(_BASE_NAMES.get(name, name))


def field_infos(columns: Iterable[SourceColumn]) -> list[dict[str, Any]]:
    """Return the columns of a stream or table; key columns and headers are marked."""
    return [_field_info(column) for column in columns]


def _field_info(column: SourceColumn) -> dict[str, Any]:
    info: dict[str, Any] = {"name": column.name, "schema": schema_info(column.type)}
    if column.namespace == "KEY":
        info["type"] = "KEY"
    elif column.namespace == "HEADERS":
        info["type"] = "HEADER"
        if column.header is not None:
            info["headerKey"] = column.header
    return info


def _info(
    name: str, fields: list[dict[str, Any]] | None = None, member: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"type": name, "fields": fields, "memberSchema": member}
