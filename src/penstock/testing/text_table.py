"""Text tables for tests: a header line, then one record per line, with ``|`` between columns.

Columns: ``key``, ``value``, ``time`` (``1:05`` is minutes and seconds, ``250`` milliseconds),
``partition`` and, in expected output, ``window``: its start in the same notation, or start and end
(``0:10-1:05``).
``#`` starts a comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.windows.windowed import Windowed
from penstock.serde.base import Serde
from penstock.testing.topics import TestRecord

_COLUMNS = {"key", "value", "time", "partition", "window"}
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d{2})(?:\.(\d{1,3}))?")


@dataclass(frozen=True, eq=False)
class Row:
    """One record for comparison. Two rows are equal if all columns that both have are equal."""

    cells: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        shared = self.cells.keys() & other.cells.keys()
        return all(_same(name, self.cells[name], other.cells[name]) for name in shared)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return " | ".join(f"{name}={value}" for name, value in self.cells.items())


def _same(column: str, one: Any, other: Any) -> bool:
    if column == "window" and None in (one[1], other[1]):
        return bool(one[0] == other[0])
    return one == other or str(one) == str(other)


def to_row(record: TestRecord) -> Row:
    """Return a record as a row; a windowed key is split into key and window start."""
    key = record.key
    cells = {"key": key, "value": record.value, "time": record.timestamp}
    if record.partition is not None:
        cells["partition"] = record.partition
    if isinstance(key, Windowed):
        cells["key"] = key.key
        cells["window"] = key.window.start, key.window.end
    return Row(cells)


def rows(text: str) -> list[Row]:
    """Parse the expected rows of a text table."""
    return [Row(cells) for cells in TextTable(text).cells()]


class TextTable:
    """A parsed table of text."""

    def __init__(self, text: str) -> None:
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        filled = [line for line in lines if line]
        self._header = [name.strip() for name in filled[0].split("|")]
        self._lines = filled[1:]
        unknown = [name for name in self._header if name not in _COLUMNS]
        if unknown:
            raise _bad_table(
                f"a text table has no column {unknown[0]!r}",
                f"use the columns {', '.join(sorted(_COLUMNS))}",
            )

    @staticmethod
    def is_one(value: Any) -> bool:
        """Return whether a piped text is a table: whether its first line is a header."""
        if not isinstance(value, str) or "\n" not in value:
            return False
        first = next((line for line in value.splitlines() if line.strip()), "")
        return {name.strip() for name in first.split("#")[0].split("|")} <= _COLUMNS

    def cells(self) -> Iterator[dict[str, Any]]:
        for line in self._lines:
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) != len(self._header):
                raise _bad_table(
                    f"line {line!r} has {len(cells)} columns, the header {len(self._header)}",
                    "give every line a cell per column, with | between them",
                )
            yield {n: _cell(n, text) for n, text in zip(self._header, cells, strict=True)}

    def records(self, key_serde: Serde[Any], value_serde: Serde[Any]) -> Iterator[TestRecord]:
        """Return the lines as records, with values of the types that the serdes write."""
        for cells in self.cells():
            yield TestRecord(
                _fitting(cells.get("key"), key_serde),
                _fitting(cells.get("value"), value_serde),
                cells.get("time"),
                partition=cells.get("partition"),
            )


def _cell(column: str, text: str) -> Any:
    if column == "time":
        return _milliseconds(text)
    if column == "partition":
        return _number(text)
    if column == "window":
        start, _, end = text.partition("-")
        return _milliseconds(start), _milliseconds(end) if end else None
    return None if text in ("null", "None") else text


def _number(text: str) -> int:
    if not text.isdecimal():
        raise _bad_table(f"{text!r} is not a partition", "write a number from 0 on")
    return int(text)


def _milliseconds(text: str) -> int:
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        if not text.removeprefix("-").isdecimal():
            fix = "write minutes and seconds (1:05), hours before them, or milliseconds (250)"
            raise _bad_table(f"{text!r} is not a time", fix)
        return int(text)
    hours, minutes, seconds, fraction = clock.groups()
    total = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return total * 1000 + int((fraction or "0").ljust(3, "0"))


def _fitting(text: str | None, serde: Serde[Any]) -> Any:
    """Return the text itself or, if the serde does not write text, the JSON value in it."""
    if text is None:
        return None
    try:
        serde.encode(text)
        return text
    except (TypeError, ValueError):
        return _from_json(text, serde)


def _from_json(text: str, serde: Serde[Any]) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _bad_table(
            f"{type(serde).__name__} takes no text, and {text!r} is not JSON",
            "write numbers, true, false, or JSON objects where the topic has no text",
        ) from None


def _bad_table(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError("bad-table", message, fix, caller_site())
