"""Entries of the processing log: what a query dropped or failed on, and why, as JSON.

The fields under ``message`` are ksqlDB's. Those beside it are added: the query, its statement, the
expression, the reason, and which record it was.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import orjson

_HIDDEN = "…"
#: Texts in quotes are values of a record more often than not.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PREFIX = "processing"


class EntryType(IntEnum):
    """The kinds of entries, with ksqlDB's numbers."""

    DESERIALIZATION = 0
    PROCESSING = 1
    PRODUCTION = 2
    SERIALIZATION = 3
    QUERY = 4


_FIELDS = {
    EntryType.DESERIALIZATION: "deserializationError",
    EntryType.PROCESSING: "recordProcessingError",
    EntryType.PRODUCTION: "productionError",
    EntryType.SERIALIZATION: "serializationError",
    EntryType.QUERY: "kafkaStreamsThreadError",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The record of an input topic that an entry is about, as it was read."""

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class ProcessingLogSpec:
    """Where the processing log of one query goes, and what every entry says about the query."""

    topic: str
    query_id: str
    statement: str = ""
    #: Whether entries may have values of records in them.
    includes_rows: bool = False

    def entry(
        self,
        kind: EntryType,
        error: BaseException | str,
        *,
        step: str,
        time_ms: int,
        origin: Origin | None = None,
        expression: str | None = None,
        row: Mapping[str, Any] | None = None,
        target: str | None = None,
        topic: str | None = None,
        what: str = "",
    ) -> bytes:
        """Return one entry as JSON.

        Args:
            kind: What went wrong.
            error: The reason.
            step: The step or node of the query.
            time_ms: The time of the entry.
            origin: The record; its bytes are left out unless rows are included.
            expression: The SQL that failed.
            row: The values that the step worked on, by column.
            target: ``key`` or ``value``.
            topic: The topic that was read or written.
            what: Says what failed, before the reason.
        """
        reason, causes = self._texts(error, origin, row)
        message = f"{what}: {reason}" if what else reason
        body: dict[str, Any] = {"errorMessage": message}
        match kind:
            case EntryType.DESERIALIZATION:
                value = origin.value if origin is not None and self.includes_rows else None
                body |= {"target": target, "recordB64": _base64(value)}
                body |= {"cause": causes, "topic": topic}
            case EntryType.PROCESSING:
                body |= {"record": self._row_text(row), "cause": causes}
            case EntryType.SERIALIZATION:
                body |= {"target": target, "record": self._row_text(row)}
                body |= {"cause": causes, "topic": topic}
            case EntryType.QUERY:
                body |= {"threadName": self.query_id, "cause": causes}
            case EntryType.PRODUCTION:
                pass
        entry = {
            "logger": f"{_PREFIX}.{self.query_id}.{step}",
            "level": "ERROR",
            "time": time_ms,
            "message": {
                "type": int(kind),
                **{name: body if each is kind else None for each, name in _FIELDS.items()},
            },
            "query_id": self.query_id,
            "statement": self.statement,
            "expression": expression,
            "reason": reason,
            "origin": None if origin is None else self._origin(origin),
        }
        return orjson.dumps(entry, default=str, option=orjson.OPT_NON_STR_KEYS)

    def _origin(self, origin: Origin) -> dict[str, Any]:
        shown = {
            "topic": origin.topic,
            "record_partition": origin.partition,
            "record_offset": origin.offset,
            "record_time": origin.timestamp,
        }
        if self.includes_rows:
            shown |= {"record_key": _text(origin.key), "record_value": _text(origin.value)}
        return shown

    def _row_text(self, row: Mapping[str, Any] | None) -> str | None:
        if row is None or not self.includes_rows:
            return None
        return orjson.dumps(dict(row), default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()

    def _texts(
        self, error: BaseException | str, origin: Origin | None, row: Mapping[str, Any] | None
    ) -> tuple[str, list[str]]:
        """Return the reason and its causes; without values, unless rows are included."""
        texts = [error] if isinstance(error, str) else [_said(each) for each in _chain(error)]
        if not self.includes_rows and not isinstance(error, str):
            values = list(_values(origin, row))
            texts = [_without(text, values) for text in texts]
        return texts[0], texts[1:]


def _chain(error: BaseException) -> Iterable[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _said(error: BaseException) -> str:
    message = getattr(error, "message", None)
    if isinstance(message, str):
        return message
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _values(origin: Origin | None, row: Mapping[str, Any] | None) -> Iterable[str]:
    for data in () if origin is None else (origin.key, origin.value):
        if data:
            yield data.decode(errors="replace")
    for value in (row or {}).values():
        if value is not None and not isinstance(value, bool):
            yield str(value)


def _without(text: str, values: Iterable[str]) -> str:
    text = _QUOTED.sub(_HIDDEN, text)
    for value in values:
        # Single letters and digits are parts of words.
        if len(value) > 1:
            text = text.replace(value, _HIDDEN)
    return text


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _text(data: bytes | None) -> str | None:
    """Return bytes as text; bytes that are not UTF-8 are written as Python writes them."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return repr(data)


def _plain(value: Any) -> Any:
    return _base64(value) if isinstance(value, bytes) else str(value)
