"""Format KAFKA over columns. One by one: ``kafka_codec``."""

from __future__ import annotations

from typing import Any

from penstock.formats.column_codec import ColumnCodec
from penstock.formats.kafka_codec import KAFKA_SERDES
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.dictionary_column import DictionaryColumn
from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.types import SqlType
from penstock.serde.base import Serde
from penstock.serde.column_serde import (
    Encoded,
    decode_all,
    encode_all,
    keeps_bytes,
    takes_all,
    tells_apart,
)
from penstock.serde.primitives import IntegerSerde, LongSerde


def kafka_columns(type_: SqlType) -> ColumnCodec:
    """Gives the functions of rows with one column, which are those of Kafka's own serde."""
    serde = KAFKA_SERDES[type_]

    def decode(data: Encoded) -> RowColumns | None:
        if takes_all(serde):
            return RowColumns([lambda: decode_all(serde, data)], len(data))
        return RowColumns([decode_all(serde, data)], len(data))

    def encode(rows: RowColumns) -> Encoded | None:
        values = rows.column(0)
        found = _coded(values, serde) if isinstance(values, DictionaryColumn) else None
        return encode_all(serde, values) if found is None else found

    def keeps(data: Encoded) -> bool:
        # Two bytes for one number there are not; a NaN has many.
        return isinstance(serde, LongSerde | IntegerSerde) or keeps_bytes(serde, data)

    return ColumnCodec(
        ("KAFKA", type_), decode, encode, takes_all(serde), tells_apart(serde), keeps
    )


def _coded(values: DictionaryColumn[Any], serde: Serde[Any]) -> DictionaryBytes | None:
    different = encode_all(serde, values.different)
    if None in different or len(set(different)) < len(different):
        return None
    return DictionaryBytes(values.codes, list(different))  # type: ignore[arg-type]
