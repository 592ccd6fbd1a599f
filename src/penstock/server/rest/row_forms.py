"""The forms of an answer with rows: what is written before, between and after the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import orjson

from penstock.server.push.runs import PushRow
from penstock.server.rest.json_rows import row_writer
from penstock.server.rest.protobuf_rows import protobuf_schema, protobuf_writer
from penstock.server.rest.replies import JSON, V1_JSON, accepted
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.lowering.context import Row

DELIMITED = "application/vnd.ksqlapi.delimited.v1"
V1_PROTOBUF = "application/vnd.ksql.v1+protobuf"
#: Penstock's own: the lines of ``DELIMITED``, with deleted rows.
CHANGES = "application/vnd.penstock.changes.v1"
EVENTS = "text/event-stream"


class RowForm(Protocol):
    """Write one answer. Every method returns bytes that can be sent as they are.

    An instance belongs to the columns of one query; it has no state, so answers can share it.
    """

    #: The content type of the answer.
    media: str
    #: Whether the form can express the end of a query and deleted rows.
    has_messages: bool

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        """Write what comes before the rows; ``key`` names the columns that identify a row."""

    def row(self, row: PushRow) -> bytes | None:
        """Write one row; None if the form cannot show it."""

    def consistency(self, token: str) -> bytes: ...

    def continuation(self, token: str) -> bytes: ...

    def final(self, message: str) -> bytes: ...

    def error(self, body: dict[str, Any]) -> bytes: ...

    def heartbeat(self) -> bytes: ...

    def end(self) -> bytes: ...


class V1JsonForm:
    """A JSON array of objects with one member each: ``header``, ``row``, ``finalMessage``, ..."""

    has_messages = True

    def __init__(self, columns: Sequence[SourceColumn], media: str = V1_JSON) -> None:
        self.media = media
        self._write = row_writer(columns)

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        return b"[" + orjson.dumps({"header": {"queryId": query_id, "schema": schema}})

    def row(self, row: PushRow) -> bytes | None:
        more = b',"tombstone":true' if row.is_deleted else b""
        return b',\n{"row":{"columns":' + self._write(row.columns) + more + b"}}"

    def consistency(self, token: str) -> bytes:
        return _next({"consistencyToken": {"consistencyToken": token}})

    def continuation(self, token: str) -> bytes:
        return _next({"continuationToken": {"continuationToken": token}})

    def final(self, message: str) -> bytes:
        return _next({"finalMessage": message})

    def error(self, body: dict[str, Any]) -> bytes:
        return _next({"errorMessage": body})

    def heartbeat(self) -> bytes:
        return b"\n"

    def end(self) -> bytes:
        return b"]\n"


class V1ProtobufForm(V1JsonForm):
    """The same array, with the schema of a message in the header and messages for rows."""

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        super().__init__(columns, V1_PROTOBUF)
        self._schema = protobuf_schema(columns)
        self._write_message = protobuf_writer(columns)

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        header = {"queryId": query_id, "schema": schema, "protoSchema": self._schema}
        return b"[" + orjson.dumps({"header": header})

    def row(self, row: PushRow) -> bytes | None:
        if row.is_deleted:
            # As in ksqlDB: a deletion is JSON also among messages.
            return super().row(row)
        return _next({"row": {"protobufBytes": self._write_message(row.columns)}})


class JsonForm:
    """A JSON array: an object about the columns, then an array for each row."""

    has_messages = False
    media = JSON

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        self._columns = columns
        self._write: Callable[[Row], bytes] = row_writer(columns)

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        return b"[" + _metadata(query_id, self._columns)

    def row(self, row: PushRow) -> bytes | None:
        return None if row.is_deleted else b"," + self._write(row.columns)

    def consistency(self, token: str) -> bytes:
        return b"," + orjson.dumps({"consistencyToken": token})

    def continuation(self, token: str) -> bytes:
        return b"," + orjson.dumps({"continuationToken": token})

    def final(self, message: str) -> bytes:
        return b""

    def error(self, body: dict[str, Any]) -> bytes:
        return b"," + orjson.dumps(body)

    def heartbeat(self) -> bytes:
        return b"\n"

    def end(self) -> bytes:
        return b"]"


class DelimitedForm:
    """A line about the columns, then a line for each row: no array, so clients read lines."""

    has_messages = False
    media = DELIMITED

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        self._columns = columns
        self._write: Callable[[Row], bytes] = row_writer(columns)

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        return _metadata(query_id, self._columns) + b"\n"

    def row(self, row: PushRow) -> bytes | None:
        return None if row.is_deleted else self._write(row.columns) + b"\n"

    def consistency(self, token: str) -> bytes:
        return orjson.dumps({"consistencyToken": token}) + b"\n"

    def continuation(self, token: str) -> bytes:
        return orjson.dumps({"continuationToken": token}) + b"\n"

    def final(self, message: str) -> bytes:
        return b""

    def error(self, body: dict[str, Any]) -> bytes:
        return orjson.dumps(body) + b"\n"

    def heartbeat(self) -> bytes:
        # Some clients take an empty line for an error. No heartbeat is needed: the connection
        # itself shows that a client has left.
        return b""

    def end(self) -> bytes:
        return b""


class ChangesForm(DelimitedForm):
    """The same lines, and besides them the key in the header and a line for each deleted row.

    ksqlDB's lines leave deleted rows out. The prompt of Penstock and its Python client ask for
    this form, so that a deleted row disappears there as well.
    """

    media = CHANGES

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        more = {} if key is None else {"keyColumns": list(key)}
        return _metadata(query_id, self._columns, more) + b"\n"

    def row(self, row: PushRow) -> bytes | None:
        if row.is_deleted:
            return b'{"tombstone":' + self._write(row.columns) + b"}\n"
        return super().row(row)


class EventForm:
    """Server-sent events. The id of an event is the token with which a browser resumes."""

    has_messages = True
    media = f"{EVENTS}; charset=utf-8"

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        self._columns = columns
        self._write: Callable[[Row], bytes] = row_writer(columns)

    def begin(self, query_id: str, schema: str, key: Sequence[str] | None = None) -> bytes:
        return _event(b"header", _metadata(query_id, self._columns))

    def row(self, row: PushRow) -> bytes | None:
        return _event(b"delete" if row.is_deleted else b"row", self._write(row.columns))

    def consistency(self, token: str) -> bytes:
        return _event(b"consistency", orjson.dumps(token))

    def continuation(self, token: str) -> bytes:
        return b"id: " + token.encode() + b"\n" + _event(b"position", b"{}")

    def final(self, message: str) -> bytes:
        return _event(b"end", orjson.dumps(message))

    def error(self, body: dict[str, Any]) -> bytes:
        return _event(b"failure", orjson.dumps(body))

    def heartbeat(self) -> bytes:
        return b": still here\n\n"

    def end(self) -> bytes:
        return b""


def _next(element: dict[str, Any]) -> bytes:
    return b",\n" + orjson.dumps(element)


def _event(kind: bytes, data: bytes) -> bytes:
    return b"event: " + kind + b"\ndata: " + data + b"\n\n"


def _metadata(
    query_id: str, columns: Sequence[SourceColumn], more: Mapping[str, Any] | None = None
) -> bytes:
    return orjson.dumps(
        {
            "queryId": query_id,
            "columnNames": [column.name for column in columns],
            "columnTypes": [str(column.type) for column in columns],
            **(more or {}),
        }
    )


FormFactory = Callable[[Sequence[SourceColumn]], RowForm]


def form_for(accept: str | None, *, is_stream: bool) -> FormFactory | None:
    """Return the form that a caller accepts; None if there is none.

    Args:
        accept: the header of that name.
        is_stream: whether the path is /query-stream, whose default and JSON differ from /query's.
    """
    for name in accepted(accept):
        found = _STREAM_FORMS.get(name) if is_stream else _QUERY_FORMS.get(name)
        if found is not None:
            return found
    return None


_FORMS: dict[str, FormFactory] = {
    V1_JSON: V1JsonForm,
    "application/vnd.ksql+json": V1JsonForm,
    V1_PROTOBUF: V1ProtobufForm,
    DELIMITED: DelimitedForm,
    CHANGES: ChangesForm,
    EVENTS: EventForm,
}
_STREAM_FORMS: dict[str, FormFactory] = {
    **_FORMS,
    JSON: JsonForm,
    "*/*": DelimitedForm,
    "application/*": DelimitedForm,
}
_QUERY_FORMS: dict[str, FormFactory] = {
    **_FORMS,
    JSON: lambda columns: V1JsonForm(columns, JSON),
    "*/*": lambda columns: V1JsonForm(columns, JSON),
    "application/*": lambda columns: V1JsonForm(columns, JSON),
}
