"""The types of SQL as Spark writes them. Their values in DataFrames: ``queries.batch_rows``."""

from __future__ import annotations

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
    MapType,
    SqlType,
    StructType,
)

#: A time of day is text.
_NAMES: dict[SqlType, str] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "bigint",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "binary",
    DATE: "date",
    TIME: "string",
    TIMESTAMP: "timestamp",
}
#: Decimals of more digits become text: Spark has no type for them.
DIGITS = 38


def spark_type(type_: SqlType) -> str:
    """Return the type that a column has in Spark, as DDL.

    >>> spark_type(MapType(STRING, ArrayType(TIMESTAMP)))
    'map<string,array<timestamp>>'
    """
    match type_:
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})" if precision <= DIGITS else "string"
        case ArrayType(element):
            return f"array<{spark_type(element)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case StructType(fields):
            parts = [f"{quoted_name(field.name)}:{spark_type(field.type)}" for field in fields]
            return f"struct<{','.join(parts)}>"
        case _:
            return _NAMES[type_]


def quoted_name(name: str) -> str:
    """Return a name as Spark reads it whatever is in it."""
    return f"`{name.replace('`', '``')}`"
