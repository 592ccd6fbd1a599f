"""Reads rows of an application's stores for a journey: as they are, or as of a commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import PenstockError
from penstock.model.partitioning import partition_for
from penstock.serving.application import Queryable, Row, StoreInfo
from penstock.serving.journey.values import Rows
from penstock.serving.past.past_reader import PastReader
from penstock.serving.past.values import Commit
from penstock.serving.question import (
    KeyQuestion,
    Question,
    RangeQuestion,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
)
from penstock.state.spec import StoreKind

#: How many windows, sessions or versions of a key are read, and rows of a whole store.
_MOST_ROWS = 200
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)


class AppState:
    """The stores of an application after a commit; without one, as they are now."""

    def __init__(self, application: Queryable, commit: Commit | None) -> None:
        self._application, self._commit = application, commit
        self._past = PastReader(application)
        self._stores = application.stores()

    def of_key(self, store: str, key: Any) -> Rows:
        info = self._stores.get(store)
        if info is None:
            return Rows(why="it is a store that cannot be read from outside")
        if key is None:
            return Rows()
        question = _of_key(info, key)
        rows: list[Row] = []
        has_more = False
        for partition in _partitions(info, key):
            found = self._read(info, partition, question)
            if found.why:
                return found
            rows += found.rows
            has_more = has_more or found.has_more
            if rows:
                break
        return Rows(rows=rows, has_more=has_more)

    def some(self, store: str) -> Rows:
        info = self._stores.get(store)
        if info is None:
            return Rows(why="it is a store that cannot be read from outside")
        if info.kind is StoreKind.VERSIONED_KEY_VALUE:
            return Rows(why="a versioned store is read key by key")
        rows: list[Row] = []
        for partition in range(1 if info.is_global else info.partitions):
            left = _MOST_ROWS - len(rows)
            found = self._read(info, partition, RangeQuestion(limit=left))
            if found.why:
                return found
            rows += found.rows
            if found.has_more or len(rows) >= _MOST_ROWS:
                return Rows(rows=rows, has_more=True)
        return Rows(rows=rows)

    def _read(self, info: StoreInfo, partition: int, question: Question) -> Rows:
        try:
            if self._commit is None or info.kind is StoreKind.VERSIONED_KEY_VALUE:
                answer = self._application.read(info.name, partition, question)
                return Rows(rows=answer.rows, has_more=answer.has_more)
            page = self._past.read(info, partition, question, self._commit)
        except PenstockError as error:
            return Rows(why=f"it could not be read ({error.message})")
        if page.unknown and isinstance(question, KeyQuestion):
            return Rows(why="it has changed since, and the older value was compacted away")
        if page.unknown:
            rows = len(page.unknown)
            return Rows(rows=page.rows, why=f"the older values of {rows} rows were compacted away")
        return Rows(rows=page.rows, has_more=page.reached is not None)


def _of_key(info: StoreInfo, key: Any) -> Question:
    if info.kind in _WINDOW:
        return WindowQuestion(key=key, limit=_MOST_ROWS, reverse=True)
    if info.kind is StoreKind.SESSION:
        return SessionQuestion(key=key, limit=_MOST_ROWS, reverse=True)
    if info.kind is StoreKind.VERSIONED_KEY_VALUE:
        return VersionsQuestion(key=key, limit=_MOST_ROWS)
    return KeyQuestion(key)


def _partitions(info: StoreInfo, key: Any) -> Sequence[int]:
    """Return the partitions that may have a key, the likeliest one first."""
    if info.is_global:
        return (0,)
    data = info.key_serde.serialize(info.changelog, key) or b""
    first = partition_for(data, info.partitions)
    if info.is_placed:
        return (first,)
    return (first, *(each for each in range(info.partitions) if each != first))
