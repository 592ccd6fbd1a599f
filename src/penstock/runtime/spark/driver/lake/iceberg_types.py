"""Types of Spark as types of Iceberg. They have the same values; Iceberg numbers its fields."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from itertools import count
from typing import Any

_SIMPLE = {
    "string": "StringType",
    "binary": "BinaryType",
    "boolean": "BooleanType",
    "byte": "IntegerType",
    "short": "IntegerType",
    "integer": "IntegerType",
    "long": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "date": "DateType",
    "timestamp": "TimestamptzType",
    "timestamp_ntz": "TimestampType",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


class IcebergTypes:
    """Translates one struct, with a number for each of its fields. Every field may be null."""

    def __init__(self) -> None:
        self._types = importlib.import_module("pyiceberg.types")
        self._ids = count(1)

    def schema(self, struct: Mapping[str, Any]) -> Any:
        """Return the schema of a table.

        Args:
            struct: columns as Spark writes them in JSON.

        Raises:
            ValueError: Iceberg has no type for a column.
        """
        return importlib.import_module("pyiceberg.schema").Schema(*self._fields(struct))

    def _fields(self, struct: Mapping[str, Any]) -> list[Any]:
        return [
            self._types.NestedField(
                next(self._ids), field["name"], self._type(field["type"]), required=False
            )
            for field in struct["fields"]
        ]

    def _type(self, kind: Any) -> Any:
        if isinstance(kind, str):
            return self._simple(kind)
        match kind["type"]:
            case "struct":
                return self._types.StructType(*self._fields(kind))
            case "array":
                element = self._type(kind["elementType"])
                return self._types.ListType(next(self._ids), element, element_required=False)
            case "map":
                key, value = self._type(kind["keyType"]), self._type(kind["valueType"])
                ids = next(self._ids), next(self._ids)
                return self._types.MapType(ids[0], key, ids[1], value, value_required=False)
            case other:
                raise ValueError(f"Iceberg has no type for {other!r}")

    def _simple(self, kind: str) -> Any:
        decimal = _DECIMAL.fullmatch(kind)
        if decimal is not None:
            return self._types.DecimalType(int(decimal[1]), int(decimal[2]))
        if kind not in _SIMPLE:
            raise ValueError(f"Iceberg has no type for {kind!r}")
        return getattr(self._types, _SIMPLE[kind])()


def type_text(kind: Any) -> str:
    """Return a type of Iceberg as text without numbers of fields: ``list<string>``."""
    if kind.is_primitive:
        return str(kind)
    if hasattr(kind, "element_type"):
        return f"list<{type_text(kind.element_type)}>"
    if hasattr(kind, "key_type"):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.value_type)}>"
    fields = ", ".join(f"{each.name}: {type_text(each.field_type)}" for each in kind.fields)
    return f"struct<{fields}>"
