"""Format JSON over columns whose values the query does not use: records are only checked.

A record that cannot be read is dropped, also if the query does not use its values. Records of one
producer have the same names in the same order. So one regular expression, made for the names of the
first record, matches all records of most batches, and proves that they can be read. Arrow needs a
third of the time of reading for it. A batch that does not match is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.json.json_read import sources_of
from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Field,
    SqlType,
)
from penstock.model.user_code import user_code
from penstock.serde.column_serde import Encoded

Decode = Callable[[Encoded], RowColumns | None]

_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"'
#: A number with so few digits is finite.
_NUMBER = r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?"
_SCALAR = f"(?:{_TEXT}|{_NUMBER}|true|false|null)"
#: Text that a column of the type can certainly read. It may read more than that.
_PATTERNS: dict[SqlType, str] = {
    BIGINT: r"(?:0|-?[1-9][0-9]{0,17}|null)",
    BOOLEAN: "(?:true|false|null)",
    DOUBLE: f"(?:{_NUMBER}|null)",
    INTEGER: r"(?:0|-?[1-9][0-9]{0,8}|null)",
    STRING: _SCALAR,
    TIMESTAMP: r"(?:0|-?[1-9][0-9]{0,17}|null)",
}
_SPACE = r"[ \t\n\r]*"
_HAS_SPACE = re.compile(rb"[ \t\n\r]").search
_IS_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+").fullmatch
#: After so many batches in a row that do not match, batches are read at once.
_PATIENCE = 4


def checking_decoder(fields: Sequence[Field], decode: Decode) -> Decode:
    """Return a decoder that checks records now and decodes them when a column is needed.

    It refuses the records that ``decode`` refuses.
    """
    if any(field.type not in _PATTERNS for field in fields):
        return decode
    patterns = cache(lambda names, is_spaced: _pattern(fields, names, is_spaced=is_spaced))
    failures = 0

    def checked(data: Encoded) -> RowColumns | None:
        nonlocal failures
        if failures < _PATIENCE:
            pattern = patterns(*_layout(data[0]))
            if pattern is not None and _all_match(data, pattern):
                failures = 0
                return _later(decode, data, len(fields))
            failures += 1
        return decode(data)

    return checked


def _layout(record: bytes | None) -> tuple[tuple[str, ...], bool]:
    first = orjson.loads(record or b"")
    return tuple(first) if type(first) is dict else (), _HAS_SPACE(record or b"") is not None


def _pattern(fields: Sequence[Field], names: tuple[str, ...], *, is_spaced: bool) -> str | None:
    """Return the pattern of objects with these names; None if there is no exact one."""
    if not names or not all(map(_IS_PLAIN_NAME, names)):
        return None
    sources = sources_of(fields, names)
    types = {s: field.type for s, field in zip(sources, fields, strict=True) if s is not None}
    if len(types) < len(sources) - sources.count(None):
        # Two columns read the same member.
        return None
    parts = ["{"]
    for name in names:
        value = _PATTERNS[types[name]] if name in types else _SCALAR
        parts += [f'"{name}"', ":", value, ","]
    parts[-1] = "}"
    gap = _SPACE if is_spaced else ""
    return gap.join([r"\A", *(re.escape(p) if p in "{}:," else p for p in parts), r"\z"])


def _all_match(data: Encoded, pattern: str) -> bool:
    # Arrow refuses bytes that are not UTF-8.
    texts = pa.array(data, pa.binary()).cast(pa.string())
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is True


def _later(decode: Decode, data: Encoded, width: int) -> RowColumns:
    @cache
    def rows() -> RowColumns:
        with user_code("format JSON"):
            found = decode(data)
            if found is None:
                raise ValueError("these records are better read one by one")
        return found

    return RowColumns([lambda n=n: rows().column(n) for n in range(width)], len(data))  # type: ignore[misc]
