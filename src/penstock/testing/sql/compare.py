"""Compares records with expected ones: keys, values, times, windows and headers, in order."""

from __future__ import annotations

import base64
import struct
from typing import Any

from penstock.formats.rows import RowFormat
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.catalog.catalog import DataSource
from penstock.testing.sql.records import from_bytes, json_text, matches

_SHOWN = 160


def difference(
    actual: list[ProducedRecord],
    expected: list[dict[str, Any]],
    key: RowFormat,
    value: RowFormat,
    source: DataSource,
    *,
    ignores_zero_time: bool,
) -> str | None:
    """Return the first difference of a topic as one line; None if there is none."""
    topic = source.topic
    for i, (record, wanted) in enumerate(zip(actual, expected, strict=False)):
        reader = _Reader(record, key, value, source)
        problem = reader.problem(wanted, ignores_zero_time=ignores_zero_time)
        if problem is not None:
            return f"{topic}[{i}]: {problem}"
    if len(actual) != len(expected):
        more = "more" if len(actual) > len(expected) else "fewer"
        first = ""
        if len(actual) > len(expected):
            reader = _Reader(actual[len(expected)], key, value, source)
            first = f"; first extra {_cut(reader.value())} at {reader.record.timestamp}"
        else:
            first = f"; first missing {_cut(expected[len(actual)].get('value'))}"
        return f"{topic}: {len(actual)} records, {more} than {len(expected)}{first}"
    return None


class _Reader:
    """One record of a topic, read with the formats of the topic."""

    def __init__(
        self, record: ProducedRecord, key: RowFormat, value: RowFormat, source: DataSource
    ) -> None:
        self.record = record
        self._key = key
        self._value = value
        self._source = source

    def value(self) -> Any:
        return from_bytes(self._value, self.record.value)

    def key(self) -> tuple[Any, dict[str, int] | None]:
        data, window = self.record.key, None
        if self._source.window is not None and data is not None:
            size = self._source.window.size_ms
            if size is None:
                end, start = struct.unpack(">qq", data[-16:])
                data, window = data[:-16], {"start": start, "end": end}
            else:
                (start,) = struct.unpack(">q", data[-8:])
                data, window = data[:-8], {"start": start, "end": start + size}
        return from_bytes(self._key, data) if self._key.columns else data, window

    def problem(self, wanted: dict[str, Any], *, ignores_zero_time: bool) -> str | None:
        key, window = self.key()
        if not matches(key, wanted.get("key")):
            return f"key {_cut(key)}, not {_cut(wanted.get('key'))}"
        value = self.value()
        if not matches(value, wanted.get("value")):
            return f"value {_cut(value)}, not {_cut(wanted.get('value'))}"
        time = wanted.get("timestamp")
        skips = time is not None and int(time) == 0 and ignores_zero_time
        if time is not None and int(time) != self.record.timestamp and not skips:
            return f"timestamp {self.record.timestamp}, not {time}"
        given = wanted.get("window")
        if given is not None and not _same_window(window, given):
            return f"window {window}, not {_cut(given)}"
        headers = [{"KEY": k, "VALUE": _text(v)} for k, v in self.record.headers]
        if headers != (wanted.get("headers") or []):
            return f"headers {headers}, not {wanted.get('headers')}"
        return None


def _same_window(window: dict[str, int] | None, given: dict[str, Any]) -> bool:
    if window is None:
        return False
    return all(int(given[name]) == window[name] for name in ("start", "end") if name in given)


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _cut(value: Any) -> str:
    try:
        text = json_text(value)
    except TypeError:
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
