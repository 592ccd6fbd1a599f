"""What a caller asks for, read from the path and the query of a URL."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

import msgspec

from penstock.errors import InvalidArgumentError
from penstock.serving.application import Position
from penstock.serving.key_text import KEY_FORMATS, key_bytes

_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)
_POSITION = msgspec.json.Decoder(dict[str, dict[int, int]])
_MOST_PARTITIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The query of a URL, checked. Names are those of the query, except ``from`` and ``to``."""

    start: str | None = None
    end: str | None = None
    prefix: str | None = None
    reverse: bool = False
    limit: int | None = None
    after: bytes | None = None
    cursors: bool = False
    time_from: int | None = None
    time_to: int | None = None
    as_of: int | None = None
    key_format: str = "text"
    partitions: tuple[int, ...] | None = None
    stale: bool = False
    max_lag: int | None = None
    commit: int | None = None
    first: int | None = None
    second: int | None = None
    key: str | None = None
    every: int | None = None

    @property
    def allows_stale(self) -> bool:
        return self.stale or self.max_lag is not None


NONE_GIVEN = Parameters()


def bad_request(message: str, fix: str | None = None) -> InvalidArgumentError:
    return InvalidArgumentError("bad-request", message, fix=fix)


def unquoted(part: bytes) -> str:
    """Return one part of a path with its percent signs resolved, as UTF-8."""
    try:
        text = (unquote_to_bytes(part) if b"%" in part else part).decode()
    except UnicodeDecodeError:
        raise bad_request("the path is not UTF-8") from None
    return text


def parameters(query: bytes, allowed: frozenset[str]) -> Parameters:
    """Read a query.

    Raises:
        InvalidArgumentError: ``bad-request``: a name that the route does not have, one that is
            given twice, or a value of the wrong form.
    """
    if not query:
        return NONE_GIVEN
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=50
        )
    except ValueError:
        raise bad_request("the query of the URL cannot be read") from None
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name not in allowed:
            known = ", ".join(sorted(allowed)) or "none"
            raise bad_request(f"there is no parameter {name[:80]!r} here", f"use some of: {known}")
        field, read = _PARAMETERS[name]
        if field in found:
            raise bad_request(f"parameter {name!r} is given twice")
        found[field] = read(name, text)
    return Parameters(**found)


def position_bound(header: bytes | None) -> Position | None:
    """Read the header ``Penstock-Position-Bound``: JSON of topic, partition and offset."""
    if header is None:
        return None
    try:
        return _POSITION.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise bad_request(
            "the header Penstock-Position-Bound is not a position",
            'send what Penstock-Position said: {"topic":{"0":42}}',
        ) from None


def cursor_text(order: bytes) -> str:
    """Return the place of a row as text that fits a URL."""
    return urlsafe_b64encode(order).rstrip(b"=").decode()


def next_page(path: str, query: bytes, order: bytes) -> str:
    """Return the URL of the page that begins after a row."""
    kept = [
        (name, text)
        for name, text in parse_qsl(query.decode("ascii"), keep_blank_values=True)
        if name != "after"
    ]
    pairs = [*kept, ("after", cursor_text(order))]
    return f"{path}?{_joined(pairs)}"


def peer_query(query: bytes, partitions: Iterable[int], limit: int) -> str:
    """Return the query with which another instance is asked for some partitions of a page."""
    numbers = ",".join(map(str, partitions))
    return _changed(query, {"partitions": numbers, "limit": str(limit), "cursors": "true"})


def partition_query(query: bytes, partition: int) -> bytes:
    """Return the query with which another instance is asked for a key of one partition."""
    return _changed(query, {"partitions": str(partition)}).encode()


def _changed(query: bytes, changes: Mapping[str, str]) -> str:
    kept = parse_qsl(query.decode("ascii"), keep_blank_values=True)
    return _joined([*((n, text) for n, text in kept if n not in changes), *changes.items()])


def _joined(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={quote(text, safe='')}" for name, text in pairs)


def _text(name: str, text: str) -> str:
    return text


def _whole(name: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise bad_request(f"parameter {name!r} is not a whole number of 0 or more")
    return int(text)


def _positive(name: str, text: str) -> int:
    number = _whole(name, text)
    if number < 1:
        raise bad_request(f"parameter {name!r} has to be 1 or more")
    return number


def _flag(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise bad_request(f"parameter {name!r} has to be true or false")
    return text == "true"


def _cursor(name: str, text: str) -> bytes:
    try:
        return key_bytes(text)
    except InvalidArgumentError:
        raise bad_request(f"parameter {name!r} is not a cursor of an earlier answer") from None


def _key_format(name: str, text: str) -> str:
    if text not in KEY_FORMATS:
        raise bad_request(f"parameter {name!r} has to be one of {', '.join(KEY_FORMATS)}")
    return text


def _partitions(name: str, text: str) -> tuple[int, ...]:
    numbers = tuple(_whole(name, each) for each in text.split(","))
    if any(number > _MOST_PARTITIONS for number in numbers):
        raise bad_request(f"parameter {name!r} names a partition that no store has")
    return tuple(sorted(set(numbers)))


_PARAMETERS: Mapping[str, tuple[str, Callable[[str, str], Any]]] = {
    "from": ("start", _text),
    "to": ("end", _text),
    "prefix": ("prefix", _text),
    "reverse": ("reverse", _flag),
    "limit": ("limit", _positive),
    "after": ("after", _cursor),
    "cursors": ("cursors", _flag),
    "time_from": ("time_from", _whole),
    "time_to": ("time_to", _whole),
    "as_of": ("as_of", _whole),
    "key_format": ("key_format", _key_format),
    "partitions": ("partitions", _partitions),
    "stale": ("stale", _flag),
    "max_lag": ("max_lag", _whole),
    "commit": ("commit", _whole),
    "first": ("first", _whole),
    "second": ("second", _whole),
    "key": ("key", _text),
    "every": ("every", _positive),
}

_WHERE = frozenset({"stale", "max_lag"})
_PAGE = frozenset({"reverse", "limit", "after", "cursors", "time_from", "time_to"})
KEY_PARAMETERS = _WHERE | _PAGE | {"as_of", "commit", "key_format", "partitions"}
SCAN_PARAMETERS = _WHERE | _PAGE | {"commit", "from", "to", "prefix", "key_format", "partitions"}
LOCATION_PARAMETERS = frozenset({"key_format"})
CHANGES_PARAMETERS = frozenset({"first", "second", "limit", "partitions"})
HISTORY_PARAMETERS = frozenset({"limit", "key_format", "partitions"})
LIVE_PARAMETERS = frozenset({"key", "key_format", "every"})
HOT_PARAMETERS = frozenset({"limit", "partitions"})
