"""Answers with Protobuf rows as values that can be compared: a case has rows as Protobuf's text."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from penstock.formats.protobuf.protobuf_file import ProtoFile


def readable_rows(parts: list[Any], schema: str) -> list[Any]:
    """Return an answer with each row as the values of its message.

    Rows of an answer have the bytes of a message, rows of a case its text.
    """
    made = GetMessageClass(ProtoFile.parse(schema, {}).messages[0])
    return [_with_values(part, made) for part in parts]


def _with_values(part: Any, made: type[Message]) -> Any:
    if not isinstance(part, dict) or "row" not in part:
        return part
    row = part["row"]
    if isinstance(row, str):
        message = text_format.Parse(row, made())
    else:
        message = made.FromString(b64decode(row["protobufBytes"]))
    return {"row": _without_order(MessageToDict(message, preserving_proto_field_name=True))}


def _without_order(value: Any) -> Any:
    """Sort the entries of maps, which are lists of keys and values in these schemas."""
    match value:
        case dict():
            return {name: _without_order(item) for name, item in value.items()}
        case list():
            items = [_without_order(item) for item in value]
            entries = all(
                isinstance(each, dict) and each.keys() <= {"key", "value"} for each in items
            )
            return sorted(items, key=repr) if entries else items
        case _:
            return value
