"""Answers questions about stores as of a commit: the JSON of ``/stores`` with ``commit=…``."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

from penstock.errors import UnsupportedOperationError
from penstock.serving.application import Queryable, Role, Row, StoreInfo
from penstock.serving.parameters import cursor_text, next_page, unquoted
from penstock.serving.past.looking_back import Place
from penstock.serving.past.models import CommitPointModel, UnknownModel
from penstock.serving.past.past_reader import PastPage, PastReader
from penstock.serving.past.values import Commit
from penstock.serving.question import KeyQuestion, Question, Scan
from penstock.serving.replies import encoder
from penstock.serving.store_reader import Asked
from penstock.serving.wire.json_values import to_raw
from penstock.serving.wire.models import (
    EntryModel,
    ErrorModel,
    PageModel,
    PastModel,
    RowModel,
    SourceModel,
)
from penstock.state.spec import StoreKind

#: Calls a function in a thread of the server.
InThread = Callable[..., Awaitable[Any]]


class PastAnswers:
    """Answers from the copies in this process, which are those that processing writes to."""

    def __init__(self, application: Queryable, in_thread: InThread) -> None:
        self._application, self._in_thread = application, in_thread
        self._past = PastReader(application)

    async def answer(
        self, asked: Asked, partitions: Sequence[int], question: Question
    ) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        info, number = asked.info, asked.parameters.commit
        assert number is not None
        if info.kind is StoreKind.VERSIONED_KEY_VALUE:
            raise UnsupportedOperationError(
                "unsupported-parameter",
                f"store {info.name!r} is versioned: it keeps its own past",
                fix="ask with as_of, which takes a time",
            )
        commit = self._past.commit(number)
        if isinstance(question, KeyQuestion):
            return await self._entry(info, partitions, question, commit)
        page = await self._in_thread(self._past.page, info, partitions, question, commit)
        return 200, encoder.encode(self._page(asked, question, page, commit))

    async def _entry(
        self, info: StoreInfo, partitions: Sequence[int], question: KeyQuestion, commit: Commit
    ) -> tuple[int, bytes]:
        page, partition = PastPage(), partitions[0]
        for partition in partitions:
            page = await self._in_thread(self._past.read, info, partition, question, commit)
            if page.rows or page.unknown:
                break
        if not page.rows:
            code, text = "no-such-key", f"store {info.name!r} had no value for this key"
            if page.unknown:
                code = "value-gone"
                text = f"what store {info.name!r} held for this key was compacted away"
            return 404, encoder.encode(ErrorModel(code, f"{text} at commit {commit.number}"))
        row, topic = page.rows[0], info.changelog
        source = SourceModel(
            partition, Role.OWNER.value, self._application.instance_id, 0, {}, commit.number
        )
        model = EntryModel(
            info.name,
            to_raw(row.key, info.key_serde, topic),
            to_raw(row.value, info.value_serde, topic),
            source,
            row.timestamp,
            row.valid_to,
            _past(commit, ()),
        )
        return 200, encoder.encode(model)

    def _page(self, asked: Asked, question: Scan, page: PastPage, commit: Commit) -> PageModel:
        info, following = asked.info, None
        if page.reached is not None:
            parts = [quote(unquoted(part), safe="") for part in asked.path.split(b"/")]
            following = next_page("/".join(parts), asked.query, page.reached)
        rows = [_row(info, row, with_cursor=asked.parameters.cursors) for row in page.rows]
        return PageModel(
            info.name,
            rows,
            page.reached is not None,
            question.limit,
            [],
            following,
            _past(commit, page.unknown),
        )


def _past(commit: Commit, unknown: Sequence[Place]) -> PastModel:
    places = [
        UnknownModel(
            urlsafe_b64encode(place.key).rstrip(b"=").decode(), place.window_start, place.window_end
        )
        for place in unknown
    ]
    return PastModel(CommitPointModel(commit.number, commit.at_ms), places)


def _row(info: StoreInfo, row: Row, *, with_cursor: bool) -> RowModel:
    return RowModel(
        to_raw(row.key, info.key_serde, info.changelog),
        to_raw(row.value, info.value_serde, info.changelog),
        row.timestamp,
        row.window_start,
        row.window_end,
        row.valid_to,
        cursor_text(row.order) if with_cursor else None,
    )
