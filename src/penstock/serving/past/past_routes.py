"""``/commits``, ``/changes``, ``/history``, ``/hot-keys``: what stores were, and how they change.

``commit=…`` of ``/stores`` is answered by ``penstock.serving.store_routes``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import Raw
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.serving.application import Queryable, Row, StoreInfo
from penstock.serving.in_thread import in_thread
from penstock.serving.parameters import (
    CHANGES_PARAMETERS,
    HISTORY_PARAMETERS,
    HOT_PARAMETERS,
    bad_request,
    parameters,
    unquoted,
)
from penstock.serving.past.models import (
    CommitPointModel,
    CommitsModel,
    DifferenceModel,
    DifferenceRowModel,
    HotKeyModel,
    HotKeysModel,
    KeyChangeModel,
    KeyHistoryModel,
)
from penstock.serving.past.past_reader import Difference, PastReader
from penstock.serving.past.values import Commit
from penstock.serving.replies import json_response
from penstock.serving.store_routes import StoreRoutes
from penstock.serving.wire.json_values import NULL, to_raw

_DEFAULT_ROWS = 100
_MOST_ROWS = 1_000


class PastRoutes:
    """Answer questions about the past of stores, on the instance that processes."""

    def __init__(self, application: Queryable, stores: StoreRoutes, request_s: float) -> None:
        self._application, self._stores, self._request_s = application, stores, request_s
        self._past = PastReader(application)

    def routes(self) -> list[Route]:
        paths = {
            "/commits": self.commits,
            "/changes/{store}": self.changes,
            "/history/{store}/{key:path}": self.history,
            "/hot-keys/{store}": self.hot_keys,
        }
        return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]

    async def commits(self, request: Request) -> Response:
        parameters(request.scope["query_string"], frozenset())
        found = self._application.commits()
        return json_response(
            CommitsModel(self._application.application_id, [_point(c) for c in found])
        )

    async def changes(self, request: Request) -> Response:
        given = parameters(request.scope["query_string"], CHANGES_PARAMETERS)
        info = self._stores.info(unquoted(_parts(request)[2]))
        if given.first is None or given.second is None:
            raise bad_request("a difference is between two commits", "give first and second")
        if given.first > given.second:
            raise bad_request("first is later than second", "give the earlier commit as first")
        first, second = self._past.commit(given.first), self._past.commit(given.second)
        limit = _limit(given.limit)
        rows: list[DifferenceRowModel] = []
        truncated = False
        for partition in self._stores.all_partitions(info, given):
            left = limit - len(rows)
            found, has_more = await in_thread(
                partial(self._past.difference, info, partition, first, second, left),
                self._request_s,
            )
            rows += [_difference(info, each) for each in found]
            truncated = truncated or has_more
            if len(rows) >= limit:
                break
        return json_response(
            DifferenceModel(info.name, _point(first), _point(second), rows, truncated)
        )

    async def history(self, request: Request) -> Response:
        parts = _parts(request)
        if len(parts) != 4:
            raise bad_request("a key has no slash", "write it as %2F")
        given = parameters(request.scope["query_string"], HISTORY_PARAMETERS)
        info = self._stores.info(unquoted(parts[2]))
        key = self._stores.key(info, unquoted(parts[3]), given.key_format)
        changes: list[KeyChangeModel] = []
        is_whole = True
        for partition in self._stores.key_partitions(info, key, given):
            limit = _limit(given.limit)
            found = await in_thread(
                partial(self._past.history, info, partition, key, limit), self._request_s
            )
            changes += [
                KeyChangeModel(
                    change.partition,
                    change.offset,
                    _raw(change.value, info),
                    change.timestamp,
                    change.window_start,
                    change.window_end,
                    commit,
                )
                for change, commit in found.changes
            ]
            is_whole = found.is_whole
            if changes:
                break
        raw_key = to_raw(key, info.key_serde, info.changelog)
        return json_response(KeyHistoryModel(info.name, raw_key, changes, is_whole))

    async def hot_keys(self, request: Request) -> Response:
        given = parameters(request.scope["query_string"], HOT_PARAMETERS)
        info = self._stores.info(unquoted(_parts(request)[2]))
        limit = min(_limit(given.limit), _DEFAULT_ROWS)
        found = []
        for partition in self._stores.all_partitions(info, given):
            keys = await in_thread(
                partial(self._past.hot_keys, info, partition, limit), self._request_s
            )
            found += [
                HotKeyModel(to_raw(key, info.key_serde, info.changelog), count, partition)
                for key, count in keys
            ]
        found.sort(key=lambda each: -each.changes)
        return json_response(HotKeysModel(info.name, found[:limit]))


def _difference(info: StoreInfo, each: Difference) -> DifferenceRowModel:
    newest = each.after or each.before
    return DifferenceRowModel(
        each.partition,
        to_raw(each.key, info.key_serde, info.changelog),
        _value(info, each.before),
        _value(info, each.after),
        each.is_known,
        None if newest is None else newest.timestamp,
        each.window_start,
        each.window_end,
    )


def _value(info: StoreInfo, row: Row | None) -> Raw:
    return NULL if row is None else _raw(row.value, info)


def _raw(value: Any, info: StoreInfo) -> Raw:
    return NULL if value is None else to_raw(value, info.value_serde, info.changelog)


def _point(commit: Commit) -> CommitPointModel:
    return CommitPointModel(commit.number, commit.at_ms)


def _limit(given: int | None) -> int:
    return min(given or _DEFAULT_ROWS, _MOST_ROWS)


def _parts(request: Request) -> list[bytes]:
    raw: bytes = request.scope["raw_path"]
    return raw.split(b"/")
