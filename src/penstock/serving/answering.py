"""Answer a question from a typed store. The owner of a partition and its copies both use it."""

from __future__ import annotations

import heapq
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from penstock.errors import UnsupportedOperationError
from penstock.model.versioned import (
    AggregationWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
)
from penstock.model.windows.windowed import window_end
from penstock.serde.base import Serde
from penstock.serde.primitives import BytesSerde
from penstock.serving.application import Row
from penstock.serving.question import (
    KeyQuestion,
    PrefixQuestion,
    Question,
    RangeQuestion,
    Scan,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
    row_order,
)
from penstock.state.spec import StoreKind

_LATEST = 2**63 - 1
_KEY_VALUE = (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE)
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_TIME = struct.Struct(">q")
_BYTES = BytesSerde()


class StoreAnswers:
    """Read one partition of a store.

    Args:
        store: a typed store, as ``penstock.state.open`` returns it.
        key_serde: the store's key serde, with the defaults filled in.
        topic: the topic name that the serde gets.
    """

    def __init__(self, store: Any, key_serde: Serde[Any], topic: str) -> None:
        self._store = store
        self._kind: StoreKind = store.kind
        self._key_serde = key_serde
        self._topic = topic

    def answer(self, question: Question) -> tuple[list[Row], bool]:
        """Return the rows in order, and whether there are more than the question's limit.

        Raises:
            UnsupportedOperationError: the kind of store does not answer such a question.
        """
        if isinstance(question, KeyQuestion):
            return self._one(question), False
        kind = self._kind
        if isinstance(question, RangeQuestion) and kind in _KEY_VALUE:
            return _cut(self._range(question), question)
        if isinstance(question, PrefixQuestion) and kind in _KEY_VALUE:
            return self._prefix(question)
        if isinstance(question, WindowQuestion) and kind in _WINDOW:
            return _cut(self._windows(question), question)
        if isinstance(question, SessionQuestion) and kind is StoreKind.SESSION:
            return _sorted(self._sessions(question), question)
        if isinstance(question, RangeQuestion) and (kind in _WINDOW or kind is StoreKind.SESSION):
            return _sorted(self._windowed_range(question), question)
        if isinstance(question, VersionsQuestion) and kind is StoreKind.VERSIONED_KEY_VALUE:
            return _sorted(self._versions(question), question)
        raise UnsupportedOperationError(
            "unsupported-question",
            f"a store of the kind {kind.value!r} does not answer a {type(question).__name__}",
        )

    def _one(self, question: KeyQuestion) -> list[Row]:
        key = question.key
        if self._kind is StoreKind.VERSIONED_KEY_VALUE:
            # ``get`` of a versioned store does not return until when a version was valid.
            as_of = _LATEST if question.as_of is None else question.as_of
            found = self._store.versions(key, as_of, as_of)
            return [
                Row(key, each.value, each.timestamp, valid_to=each.valid_to)
                for each in islice(found, 1)
                if each.value is not None
            ]
        if self._kind not in _KEY_VALUE:
            raise UnsupportedOperationError(
                "unsupported-question",
                f"a store of the kind {self._kind.value!r} has windows of a key, not one value",
            )
        value = self._store.get(key)
        return [] if value is None else [Row(key, *_parts(value))]

    # Key-value stores: rows come in their order.

    def _range(self, question: RangeQuestion) -> Iterator[Row]:
        start, end, after = question.start, question.end, question.after
        if after is not None:
            # Begin where the last page ended, but never outside the range of the question.
            if question.reverse:
                if end is None or after < self._bytes(end):
                    end = self._key_serde.deserialize(self._topic, after)
            elif start is None or after > self._bytes(start):
                start = self._key_serde.deserialize(self._topic, after)
        scan = self._store.reverse_range if question.reverse else self._store.range
        with scan(start, end) as entries:
            yield from self._rows(entries)

    def _prefix(self, question: PrefixQuestion) -> tuple[list[Row], bool]:
        with self._store.prefix_scan(question.prefix, _BYTES) as entries:
            rows = self._rows(entries)
            if not question.reverse:
                return _cut(rows, question)
            # Stores scan a prefix only forward, so the last rows are kept.
            before = question.after
            kept = deque(
                (row for row in rows if before is None or row.order < before),
                maxlen=question.limit + 1,
            )
            found = list(reversed(kept))
            return found[: question.limit], len(found) > question.limit

    def _rows(self, entries: Iterable[tuple[Any, Any]]) -> Iterator[Row]:
        for key, value in entries:
            yield Row(key, *_parts(value), order=self._bytes(key))

    # Windows, sessions and versions

    def _windows(self, question: WindowQuestion) -> Iterator[Row]:
        time_from, time_to = _span(question)
        key, raw = question.key, self._bytes(question.key)
        scan = self._store.backward_fetch if question.reverse else self._store.fetch
        size = self._store.window_size_ms
        with scan(key, time_from, time_to) as found:
            for start, value in found:
                end = window_end(start, size)
                yield Row(key, *_parts(value), start, end, order=row_order(raw, start, end))

    def _sessions(self, question: SessionQuestion) -> Iterator[Row]:
        latest = _LATEST if question.time_to is None else question.time_to
        with self._store.find_sessions(question.key, question.time_from or 0, latest) as found:
            yield from self._windowed_rows(found)

    def _windowed_range(self, question: RangeQuestion) -> Iterator[Row]:
        time_from, time_to = _span(question)
        store, start, end = self._store, question.start, question.end
        if self._kind is StoreKind.SESSION:
            scan = store.find_sessions_range(start, end, time_from, time_to)
        else:
            scan = store.fetch_range(start, end, time_from, time_to)
        with scan as found:
            for row in self._windowed_rows(found):
                assert row.window_start is not None
                if time_from <= row.window_start <= time_to:
                    yield row

    def _windowed_rows(self, entries: Iterable[tuple[Any, Any]]) -> Iterator[Row]:
        for windowed, value in entries:
            window = windowed.window
            order = row_order(self._bytes(windowed.key), window.start, window.end)
            yield Row(windowed.key, *_parts(value), window.start, window.end, order=order)

    def _versions(self, question: VersionsQuestion) -> Iterator[Row]:
        key, raw = question.key, self._bytes(question.key)
        latest = _LATEST if question.time_to is None else question.time_to
        for each in self._store.versions(key, question.time_from or 0, latest):
            if each.value is not None:
                order = row_order(raw, each.timestamp)
                yield Row(key, each.value, each.timestamp, valid_to=each.valid_to, order=order)

    def _bytes(self, key: Any) -> bytes:
        return self._key_serde.serialize(self._topic, key) or b""


def _parts(value: Any) -> tuple[Any, int | None]:
    """Return a store's value and its timestamp, if it keeps one."""
    if isinstance(value, ValueAndTimestamp | ValueTimestampHeaders):
        return value[0], value[1]
    if isinstance(value, AggregationWithHeaders):
        return value.aggregation, None
    return value, None


def _span(question: RangeQuestion | WindowQuestion) -> tuple[int, int]:
    """Return the range of window starts that earlier pages have not covered."""
    first = question.time_from or 0
    last = _LATEST if question.time_to is None else question.time_to
    if question.after is not None and len(question.after) >= _TIME.size:
        reached = _TIME.unpack(question.after[: _TIME.size])[0]
        first, last = (
            (first, min(last, reached)) if question.reverse else (max(first, reached), last)
        )
    return first, last


def _cut(rows: Iterable[Row], question: Scan) -> tuple[list[Row], bool]:
    """Return a page of rows that arrive in order, after the last row that the caller has."""
    after, limit = question.after, question.limit
    if after is not None:
        if question.reverse:
            rows = (row for row in rows if row.order < after)
        else:
            rows = (row for row in rows if row.order > after)
    found = list(islice(rows, limit + 1))
    return found[:limit], len(found) > limit


def _sorted(rows: Iterable[Row], question: Scan) -> tuple[list[Row], bool]:
    """Return a page of rows that the store returns in another order than that of pages."""
    after, limit = question.after, question.limit
    if question.reverse:
        left = (row for row in rows if after is None or row.order < after)
        found = heapq.nlargest(limit + 1, left, key=lambda row: row.order)
    else:
        left = (row for row in rows if after is None or row.order > after)
        found = heapq.nsmallest(limit + 1, left, key=lambda row: row.order)
    return found[:limit], len(found) > limit
