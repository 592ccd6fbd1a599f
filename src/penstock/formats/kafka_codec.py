"""Format KAFKA: one column, in the bytes of Kafka's serdes. Format NONE: no bytes."""

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
    """Return the functions of a row with one column, whose type ``Format`` has checked."""
    write, read = KAFKA_SERDES[type_].encode, KAFKA_SERDES[type_].decode

    def encode(row: Any) -> bytes | None:
        (value,) = row
        return None if value is None else write(value)

    def decode(data: bytes) -> Any:
        return (read(data),)

    return encode, decode


def void_codec() -> tuple[Encode, Decode]:
    """Return the functions of a row without columns, which has no bytes."""
    return lambda _: None, lambda _: None
