"""Rows as Protobuf messages: the schema in the header, and each row's bytes as base64."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence

from penstock.formats.columns import ColumnLike
from penstock.formats.protobuf.protobuf_schema import schema_text
from penstock.formats.rows import serde_for
from penstock.model.sql.types import Field
from penstock.sql.planner.lowering.context import Row

_FORMAT = "PROTOBUF_NOSR"


def protobuf_schema(columns: Sequence[ColumnLike]) -> str:
    """Return the schema of a message whose fields are the columns of an answer."""
    return schema_text([Field(column.name, column.type) for column in columns], None, None)


def protobuf_writer(columns: Sequence[ColumnLike]) -> Callable[[Row], str]:
    """Return the function from a row to the base64 of its message."""
    serde = serde_for(_FORMAT, columns, is_key=False, topic="")

    def write(row: Row) -> str:
        return b64encode(serde.serialize("", row) or b"").decode()

    return write
