"""Format KAFKA: one column in the bytes of Kafka's own serdes. Format NONE: no bytes at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.model.sql.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType
from penstock.serde.base import Serde
from penstock.serde.primitives import (
    BytesSerde,
    DoubleSerde,
    IntegerSerde,
    LongSerde,
    StringSerde,
)

Encode = Callable[[Any], bytes | None]
Decode = Callable[[bytes], Any]

KAFKA_SERDES: dict[SqlType, Serde[Any]] = {
    INTEGER: IntegerSerde(),
    BIGINT: LongSerde(),
    DOUBLE: DoubleSerde(),
    STRING: StringSerde(),
    BYTES: BytesSerde(),
}


def kafka_codec(type_: SqlType) -> tuple[Encode, Decode]:
    """Gives the functions of a row with one column of a type that ``Format`` let through."""
    write, read = KAFKA_SERDES[type_].encode, KAFKA_SERDES[type_].decode

    def encode(row: Any) -> bytes | None:
        (value,) = row
        return None if value is None else write(value)

    def decode(data: bytes) -> Any:
        return (read(data),)

    return encode, decode


def void_codec() -> tuple[Encode, Decode]:
    """Gives the functions of a row without columns: nothing is written, nothing is looked at."""
    return lambda _: None, lambda _: None
