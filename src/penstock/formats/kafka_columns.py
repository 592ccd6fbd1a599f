"""Format KAFKA over columns. Row by row: ``kafka_codec``."""

from __future__ import annotations

from typing import Any

from penstock.formats.kafka_codec import KAFKA_SERDES
from penstock.formats.row_column_serde import row_column_serde
from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.dictionary_column import DictionaryColumn
from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.types import SqlType
from penstock.serde.base import Serde
from penstock.serde.column_serde import ColumnSerde, Encoded
from penstock.serde.columns import decode_all, encode_all, known
from penstock.serde.primitives import IntegerSerde, LongSerde


def kafka_columns(type_: SqlType) -> ColumnSerde:
    """Return the column serde of rows with one column, which is that of Kafka's own serde."""
    serde = KAFKA_SERDES[type_]
    single = known(serde)

    def decode(data: Encoded) -> RowColumns | None:
        if single.takes_all:
            return RowColumns([lambda: decode_all(serde, data)], len(data))
        return RowColumns([decode_all(serde, data)], len(data))

    def encode(rows: RowColumns) -> Encoded | None:
        values = rows.column(0)
        found = _coded(values, serde) if isinstance(values, DictionaryColumn) else None
        return encode_all(serde, values) if found is None else found

    def keeps_bytes(data: Encoded) -> bool:
        # A whole number has only one form in bytes; a NaN has many.
        return isinstance(serde, LongSerde | IntegerSerde) or single.keeps_bytes(data)

    return row_column_serde(
        ("KAFKA", type_), 1, decode, encode,
        takes_all=single.takes_all, tells_apart=single.tells_apart, keeps_bytes=keeps_bytes,
    )  # fmt: skip


def _coded(values: DictionaryColumn[Any], serde: Serde[Any]) -> DictionaryBytes | None:
    different = encode_all(serde, values.different)
    if None in different or len(set(different)) < len(different):
        return None
    return DictionaryBytes(values.codes, list(different))  # type: ignore[arg-type]
