"""``/stores/{store}`` and ``/stores/{store}/{key}``: the routes that are asked most.

They read the path themselves: a key may contain slashes as ``%2F``, and one key of a local store
is answered without a detour through the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.types import Send

from penstock.errors import InvalidArgumentError, UnknownStoreError, UnsupportedOperationError
from penstock.model.partitioning import partition_for
from penstock.serving.application import Answer, Queryable, Row, StoreInfo
from penstock.serving.key_text import Parse, key_bytes, key_form, parse_key
from penstock.serving.options import Limits
from penstock.serving.parameters import (
    KEY_PARAMETERS,
    NONE_GIVEN,
    SCAN_PARAMETERS,
    Parameters,
    bad_request,
    cursor_text,
    next_page,
    parameters,
    partition_query,
    position_bound,
    unquoted,
)
from penstock.serving.past.past_answers import PastAnswers
from penstock.serving.peer_client import PeerResponse
from penstock.serving.question import (
    KeyQuestion,
    PrefixQuestion,
    Question,
    RangeQuestion,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
)
from penstock.serving.replies import Header, ascii_bytes, encoder, reply
from penstock.serving.store_reader import Asked, Page, StoreReader, source_model
from penstock.serving.wire.json_values import to_raw
from penstock.serving.wire.models import EntryModel, ErrorModel, PageModel, RowModel, SourceModel
from penstock.state.spec import StoreKind

_KEY_VALUE = (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE)
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_OF_USERS = (*_KEY_VALUE, *_WINDOW, StoreKind.SESSION, StoreKind.VERSIONED_KEY_VALUE)
_NO_PAGE = ("reverse", "limit", "after", "cursors", "time_from", "time_to")
#: Headers that are forwarded to the instance that answers, and headers that it returns.
_REQUEST_HEADERS = (b"authorization", b"penstock-position-bound")
_ANSWER_HEADERS = (
    b"retry-after", b"penstock-source", b"penstock-instance", b"penstock-lag", b"penstock-position",
)  # fmt: skip
_JSON_NULL_POSITION = b"{}"
#: A longer position is only in the body of the answer: clients limit the size of headers.
_MOST_POSITION = 4_096
_HTTP_NOT_FOUND = 404


class StoreRequest(NamedTuple):
    """The parts of a request that these routes look at."""

    path: bytes
    query: bytes
    headers: Mapping[bytes, bytes]
    is_head: bool = False


class StoreRoutes:
    """Answer questions about stores."""

    def __init__(self, application: Queryable, reader: StoreReader, limits: Limits) -> None:
        self._application = application
        self._reader = reader
        self._limits = limits
        self._form = lru_cache(256)(key_form)
        self._past = PastAnswers(application, reader.in_thread)

    async def __call__(self, request: StoreRequest, send: Send) -> None:
        parts = request.path.split(b"/")
        # parts: "", "stores", store[, key]
        info = self.info(unquoted(parts[2]))
        if len(parts) == 3:
            await self._scan(request, info, send)
        elif len(parts) == 4:
            await self._key(request, info, unquoted(parts[3]), send)
        else:
            raise bad_request("a key has no slash", "write it as %2F")

    def info(self, name: str) -> StoreInfo:
        stores = self._application.stores()
        info = stores.get(name)
        if info is None:
            raise UnknownStoreError(
                "unknown-store", f"there is no store {name[:80]!r}", fix="see /stores for all"
            )
        if info.kind not in _OF_USERS:
            raise UnsupportedOperationError(
                "not-queryable",
                f"store {name!r} is of the kind {info.kind.value!r}, which belongs to an operator",
                fix="ask the table or the aggregation that it serves",
            )
        return info

    def parse(self, info: StoreInfo) -> Parse:
        return self._form(info.key_serde)[1]

    def key(self, info: StoreInfo, text: str, key_format: str) -> Any:
        return parse_key(info.key_serde, info.changelog, text, key_format, self.parse(info))

    def partition(self, info: StoreInfo, key: Any) -> int:
        """Return the partition of a key, as Kafka's default partitioner chooses it."""
        try:
            data = info.key_serde.serialize(info.changelog, key)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise InvalidArgumentError(
                "bad-key",
                f"the key does not fit the serde of store {info.name!r}: {error}",
                fix="see the store's key_form under /stores",
            ) from None
        return 0 if info.is_global else partition_for(data or b"", info.partitions)

    # One key

    async def _key(self, request: StoreRequest, info: StoreInfo, text: str, send: Send) -> None:
        given = parameters(request.query, KEY_PARAMETERS)
        key = self.key(info, text, given.key_format)
        partitions = self.key_partitions(info, key, given)
        question = self._question(info, key, given)
        asked = self._asked(request, info, given)
        if given.commit is not None:
            await self._from_past(send, asked, partitions, question, is_head=request.is_head)
            return
        if not isinstance(question, KeyQuestion) and len(partitions) > 1:
            async with asyncio.timeout(self._limits.request_s):
                found = await self._reader.page(asked, partitions, question, question.limit)
            await self._page(send, request, info, given, found)
            return
        async with asyncio.timeout(self._limits.request_s):
            partition, answer = await self._first(asked, partitions, question)
        if isinstance(answer, PeerResponse):
            await _relay(send, answer, is_head=request.is_head)
        elif isinstance(question, KeyQuestion):
            await _entry(send, info, partition, answer, is_head=request.is_head)
        else:
            rows: list[tuple[bytes, Row | RowModel]] = [(row.order, row) for row in answer.rows]
            page = Page(rows, [source_model(partition, answer)], answer.has_more)
            await self._page(send, request, info, given, page)

    async def _first(
        self, asked: Asked, partitions: Sequence[int], question: Question
    ) -> tuple[int, Answer | PeerResponse]:
        """Ask partitions one after the other, until one has the key; return the last answer."""
        *others, last = partitions
        for partition in others:
            one = _of_partition(asked, partition)
            answer = await self._reader.answer(one, partition, question)
            if _has_something(answer):
                return partition, answer
        one = _of_partition(asked, last) if others else asked
        return last, await self._reader.answer(one, last, question)

    def key_partitions(self, info: StoreInfo, key: Any, given: Parameters) -> Sequence[int]:
        """Return the partitions that may have a key, the likeliest one first."""
        first = self.partition(info, key)
        count = 1 if info.is_global else info.partitions
        if given.partitions is not None:
            if any(each >= count for each in given.partitions):
                raise bad_request(f"store {info.name!r} has the partitions 0 to {count - 1}")
            return given.partitions
        if info.is_placed or info.is_global:
            return (first,)
        return (first, *(each for each in range(count) if each != first))

    def _question(self, info: StoreInfo, key: Any, given: Parameters) -> Question:
        kind = info.kind
        is_versioned = kind is StoreKind.VERSIONED_KEY_VALUE
        if given.as_of is not None and not is_versioned:
            raise _unsupported(info, "as_of")
        wants_versions = is_versioned and (given.time_from, given.time_to) != (None, None)
        if given.as_of is not None and wants_versions:
            raise bad_request("as_of and time_from, time_to exclude each other")
        if kind in _KEY_VALUE or (is_versioned and not wants_versions):
            if given is not NONE_GIVEN:
                for name in _NO_PAGE:
                    if getattr(given, name) not in (None, False):
                        raise _unsupported(info, name)
            return KeyQuestion(key, given.as_of)
        many: dict[str, Any] = {
            "key": key,
            "time_from": given.time_from,
            "time_to": given.time_to,
            "limit": self._limit(given),
            "reverse": given.reverse,
            "after": given.after,
        }
        if kind in _WINDOW:
            return WindowQuestion(**many)
        return VersionsQuestion(**many) if is_versioned else SessionQuestion(**many)

    # Many keys

    async def _scan(self, request: StoreRequest, info: StoreInfo, send: Send) -> None:
        given = parameters(request.query, SCAN_PARAMETERS)
        partitions = self.all_partitions(info, given)
        limit = self._limit(given)
        question = self._scan_question(info, given, limit)
        asked = self._asked(request, info, given)
        if given.commit is not None:
            await self._from_past(send, asked, partitions, question, is_head=request.is_head)
            return
        async with asyncio.timeout(self._limits.request_s):
            page = await self._reader.page(asked, partitions, question, limit)
        await self._page(send, request, info, given, page)

    def _scan_question(
        self, info: StoreInfo, given: Parameters, limit: int
    ) -> PrefixQuestion | RangeQuestion:
        many: dict[str, Any] = {"limit": limit, "reverse": given.reverse, "after": given.after}
        if info.kind is StoreKind.VERSIONED_KEY_VALUE:
            raise UnsupportedOperationError(
                "not-scannable",
                f"store {info.name!r} is versioned: it can only be asked for single keys",
                fix="ask for /stores/{store}/{key}",
            )
        is_key_value = info.kind in _KEY_VALUE
        if is_key_value and (given.time_from, given.time_to) != (None, None):
            raise _unsupported(info, "time_from and time_to")
        if given.prefix is not None:
            if not is_key_value:
                raise _unsupported(info, "prefix")
            if (given.start, given.end) != (None, None):
                raise bad_request("prefix and from, to exclude each other")
            is_bytes = given.key_format == "base64"
            prefix = key_bytes(given.prefix) if is_bytes else given.prefix.encode()
            return PrefixQuestion(prefix=prefix, **many)
        start, end = (
            None if text is None else self.key(info, text, given.key_format)
            for text in (given.start, given.end)
        )
        for key in (start, end):
            if key is not None:
                self.partition(info, key)
        return RangeQuestion(
            start=start, end=end, time_from=given.time_from, time_to=given.time_to, **many
        )

    def all_partitions(self, info: StoreInfo, given: Parameters) -> Sequence[int]:
        """Return the partitions that are asked for: all of them, or those that are named."""
        count = 1 if info.is_global else info.partitions
        partitions = range(count) if given.partitions is None else given.partitions
        if any(each >= count for each in partitions):
            raise bad_request(f"store {info.name!r} has the partitions 0 to {count - 1}")
        return partitions

    # The past

    async def _from_past(
        self,
        send: Send,
        asked: Asked,
        partitions: Sequence[int],
        question: Question,
        *,
        is_head: bool,
    ) -> None:
        async with asyncio.timeout(self._limits.request_s):
            elsewhere = await self._reader.at_owner(asked, partitions[0])
            if elsewhere is not None:
                await _relay(send, elsewhere, is_head=is_head)
                return
            status, body = await self._past.answer(asked, partitions, question)
        await reply(send, status, body, is_head=is_head)

    # Common

    def _limit(self, given: Parameters) -> int:
        limits = self._limits
        if given.limit is None:
            return limits.default_rows
        if given.limit > limits.max_rows:
            raise bad_request(
                f"limit {given.limit} is more than {limits.max_rows}",
                "ask for pages: next in an answer has the URL of the next one",
            )
        return given.limit

    def _asked(self, request: StoreRequest, info: StoreInfo, given: Parameters) -> Asked:
        headers = request.headers
        return Asked(
            info=info,
            path=request.path,
            query=request.query,
            parameters=given,
            bound=position_bound(headers.get(b"penstock-position-bound")),
            headers={name: headers[name] for name in _REQUEST_HEADERS if name in headers},
            is_forwarded=b"penstock-forwarded-by" in headers,
        )

    async def _page(
        self,
        send: Send,
        request: StoreRequest,
        info: StoreInfo,
        given: Parameters,
        page: Page,
    ) -> None:
        rows = [_row(info, order, row, with_cursor=given.cursors) for order, row in page.rows]
        following = None
        if page.has_more and page.rows:
            # Quoted again: the server accepts paths that are not valid URLs for other programs.
            parts = [quote(unquoted(part), safe="") for part in request.path.split(b"/")]
            following = next_page("/".join(parts), request.query, page.rows[-1][0])
        model = PageModel(
            info.name, rows, page.has_more, self._limit(given), page.sources, following
        )
        await reply(
            send,
            200,
            encoder.encode(model),
            headers=_source_headers(page.sources),
            is_head=request.is_head,
        )


async def _entry(
    send: Send, info: StoreInfo, partition: int, answer: Answer, *, is_head: bool
) -> None:
    source = source_model(partition, answer)
    headers = _source_headers([source])
    if not answer.rows:
        error = ErrorModel("no-such-key", f"store {info.name!r} has no value for this key")
        await reply(send, 404, encoder.encode(error), headers=headers, is_head=is_head)
        return
    row = answer.rows[0]
    topic = info.changelog
    model = EntryModel(
        info.name,
        to_raw(row.key, info.key_serde, topic),
        to_raw(row.value, info.value_serde, topic),
        source,
        row.timestamp,
        row.valid_to,
    )
    await reply(send, 200, encoder.encode(model), headers=headers, is_head=is_head)


def _row(info: StoreInfo, order: bytes, row: Row | RowModel, *, with_cursor: bool) -> RowModel:
    cursor = cursor_text(order) if with_cursor else None
    if isinstance(row, RowModel):
        return RowModel(
            row.key,
            row.value,
            row.timestamp,
            row.window_start,
            row.window_end,
            row.valid_to,
            cursor,
        )
    topic = info.changelog
    return RowModel(
        to_raw(row.key, info.key_serde, topic),
        to_raw(row.value, info.value_serde, topic),
        row.timestamp,
        row.window_start,
        row.window_end,
        row.valid_to,
        cursor,
    )


def _of_partition(asked: Asked, partition: int) -> Asked:
    return asked._replace(query=partition_query(asked.query, partition))


def _has_something(answer: Answer | PeerResponse) -> bool:
    """Return whether there is no need to ask another partition for the key."""
    if isinstance(answer, PeerResponse):
        return answer.status != _HTTP_NOT_FOUND
    return bool(answer.rows)


def _source_headers(sources: list[SourceModel]) -> list[Header]:
    """Return headers that say which copies answered, for clients that do not parse the JSON."""
    if len(sources) == 1:
        source = sources[0]
        position = encoder.encode(source.position) if source.position else _JSON_NULL_POSITION
        roles, instances, lag = source.role, source.instance, source.lag
    else:
        merged: dict[str, dict[str, int]] = {}
        for each in sources:
            for topic, offsets in each.position.items():
                merged.setdefault(topic, {}).update(offsets)
        position = encoder.encode(merged)
        roles = ",".join(sorted({each.role for each in sources}))
        instances = ",".join(sorted({each.instance for each in sources}))
        lag = max((each.lag for each in sources), default=0)
    headers = [
        (b"penstock-source", roles.encode()),
        (b"penstock-instance", ascii_bytes(instances)),
        (b"penstock-lag", b"%d" % lag),
    ]
    if len(position) <= _MOST_POSITION:
        headers.append((b"penstock-position", position))
    return headers


async def _relay(send: Send, response: PeerResponse, *, is_head: bool) -> None:
    headers = [
        (name, response.headers[name]) for name in _ANSWER_HEADERS if name in response.headers
    ]
    await reply(send, response.status, response.body, headers=headers, is_head=is_head)


def _unsupported(info: StoreInfo, name: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        "unsupported-parameter",
        f"store {info.name!r} is of the kind {info.kind.value!r} and takes no {name} here",
    )
