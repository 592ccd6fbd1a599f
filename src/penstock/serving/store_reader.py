"""Read partitions wherever they are: in this instance, in the owner, or in another copy."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import msgspec

from penstock.serving.application import (
    Answer,
    Instance,
    NotAvailableError,
    Position,
    Queryable,
    Row,
    StoreInfo,
)
from penstock.serving.key_text import key_bytes
from penstock.serving.parameters import Parameters, peer_query
from penstock.serving.peer_client import PeerClient, PeerResponse
from penstock.serving.places import Place, moving, places
from penstock.serving.question import KeyQuestion, Question, Scan
from penstock.serving.wire.models import PageModel, RowModel, SourceModel

T = TypeVar("T")

#: The header of a question that another instance passes on: it is not passed on again.
FORWARDED = b"penstock-forwarded-by"
_PAGE = msgspec.json.Decoder(PageModel)
_HTTP_OK, _HTTP_BUSY = 200, 503
#: How long another instance may take for one key, if there is one more to ask.
_PEER_S = 2.0


class Asked(NamedTuple):
    """One request about a store, as it came in."""

    info: StoreInfo
    #: Path and query as they stood in the request line.
    path: bytes
    query: bytes
    parameters: Parameters
    #: Headers that are forwarded to another instance.
    headers: Mapping[bytes, bytes]
    bound: Position | None = None
    is_forwarded: bool = False


@dataclass(slots=True)
class Page:
    """Rows of several partitions in one order."""

    rows: list[tuple[bytes, Row | RowModel]]
    sources: list[SourceModel]
    has_more: bool = False


class StoreReader:
    """Read partitions from the best place that may answer."""

    def __init__(
        self, application: Queryable, peers: PeerClient, threads: ThreadPoolExecutor
    ) -> None:
        self._application = application
        self._peers = peers
        self._threads = threads

    def read_now(self, asked: Asked, partition: int, question: KeyQuestion) -> Answer | None:
        """Read a copy in this instance, if it answers at once and is near enough to the owner."""
        parameters = asked.parameters
        answer = self._application.read_now(
            asked.info.name,
            partition,
            question,
            allow_stale=parameters.allows_stale,
            bound=asked.bound,
        )
        if answer is None or _is_too_stale(answer, parameters):
            return None
        return answer

    def read(self, asked: Asked, partition: int, question: Question) -> Answer:
        """Read a copy in this instance."""
        parameters = asked.parameters
        answer = self._application.read(
            asked.info.name,
            partition,
            question,
            allow_stale=parameters.allows_stale,
            bound=asked.bound,
        )
        if _is_too_stale(answer, parameters):
            raise NotAvailableError(
                "too-stale",
                f"the copy here is {answer.lag} changes behind, which is more than max_lag",
                fix="ask again in a moment, or allow more",
            )
        return answer

    async def answer(
        self, asked: Asked, partition: int, question: Question
    ) -> Answer | PeerResponse:
        """Ask one partition: at once if a copy here can, else wherever the partition is."""
        if isinstance(question, KeyQuestion):
            found = self.read_now(asked, partition, question)
            if found is not None:
                return found
        return await self.one_partition(asked, partition, question)

    async def one_partition(
        self, asked: Asked, partition: int, question: Question
    ) -> Answer | PeerResponse:
        """Ask the places of a partition one after the other, until one answers."""
        failure: NotAvailableError | None = None
        found = self._places(asked, partition)
        for number, place in enumerate(found, 1):
            try:
                if place is None:
                    return await self._here(asked, partition, question)
                # A paused instance accepts the connection but never answers.
                patience_s = _PEER_S if number < len(found) else None
                async with asyncio.timeout(patience_s):
                    response = await self._forward(place, asked.path, asked.query, asked)
                if response.status != _HTTP_BUSY:
                    return response
                failure = _busy(asked.info.name, partition, response)
            except NotAvailableError as error:
                failure = error
            except TimeoutError:
                if number == len(found):
                    raise
                failure = moving(asked.info.name, partition)
        raise failure or moving(asked.info.name, partition)

    async def at_owner(self, asked: Asked, partition: int) -> PeerResponse | None:
        """Hand a whole question on to the owner of a partition; None if that is this instance."""
        owner = self._application.location(asked.info.name, partition).owner
        is_here = owner is None or owner.id == self._application.instance_id
        if is_here or asked.is_forwarded or owner is None or owner.address is None:
            return None
        return await self._forward(owner, asked.path, asked.query, asked)

    async def page(
        self,
        asked: Asked,
        partitions: Sequence[int],
        question: Scan,
        limit: int,
    ) -> Page:
        """Merge the rows of several partitions, wherever they are."""
        left = {each: self._places(asked, each) for each in partitions}
        whole = Page([], [])
        failure: NotAvailableError | None = None
        while left:
            groups: defaultdict[str | None, list[int]] = defaultdict(list)
            instances: dict[str | None, Place] = {}
            for partition, remaining in left.items():
                if not remaining:
                    raise failure or moving(asked.info.name, partition)
                place = remaining.pop(0)
                name = None if place is None else place.id
                groups[name].append(partition)
                instances[name] = place
            found = await asyncio.gather(
                *(
                    self._part(asked, instances[name], group, question, limit)
                    for name, group in groups.items()
                ),
                return_exceptions=True,
            )
            for group, part in zip(groups.values(), found, strict=True):
                if isinstance(part, NotAvailableError):
                    failure = part
                    continue
                if isinstance(part, BaseException):
                    raise part
                _add(whole, part)
                for partition in group:
                    del left[partition]
        whole.rows.sort(key=lambda entry: entry[0], reverse=asked.parameters.reverse)
        whole.has_more = whole.has_more or len(whole.rows) > limit
        del whole.rows[limit:]
        whole.sources.sort(key=lambda source: source.partition)
        return whole

    async def in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    def _places(self, asked: Asked, partition: int) -> list[Place]:
        return places(
            self._application,
            asked.info,
            partition,
            allows_stale=asked.parameters.allows_stale,
            is_forwarded=asked.is_forwarded,
        )

    async def _here(self, asked: Asked, partition: int, question: Question) -> Answer:
        return await self.in_thread(self.read, asked, partition, question)

    async def _part(
        self, asked: Asked, place: Place, group: list[int], question: Scan, limit: int
    ) -> Page:
        if place is None:
            return await self.in_thread(self._read_all, asked, group, question)
        query = peer_query(asked.query, group, limit)
        response = await self._forward(place, asked.path, query.encode(), asked)
        if response.status == _HTTP_OK:
            return _page(response.body)
        raise _busy(asked.info.name, group[0], response)

    def _read_all(self, asked: Asked, group: Sequence[int], question: Scan) -> Page:
        """Read a page out of several partitions, each only as far as the page reaches.

        Keys are spread evenly, so each partition has about its share of the page. One that ends
        within the page is read further. Four partitions cost 1.3 times the page then, not 4 times.
        """
        limit, reverse = question.limit, question.reverse
        share = min(limit, limit // len(group) + limit // (4 * len(group)) + 8)
        rows: list[tuple[bytes, Row | RowModel]] = []
        sources: dict[int, SourceModel] = {}
        #: The place of the last row that was read, for each partition that has more rows.
        ends: dict[int, bytes | None] = dict.fromkeys(group)
        reading = list(group)
        while reading:
            for partition in reading:
                asking = replace(question, limit=share, after=ends[partition] or question.after)
                answer = self.read(asked, partition, asking)  # type: ignore[arg-type]
                rows += [(row.order, row) for row in answer.rows]
                # Later reads contain everything that the first one did, so its position holds.
                sources.setdefault(partition, source_model(partition, answer))
                if answer.has_more:
                    ends[partition] = answer.rows[-1].order
                else:
                    del ends[partition]
            rows.sort(key=lambda entry: entry[0], reverse=reverse)
            last = rows[limit - 1][0] if len(rows) >= limit else None
            reading = [
                partition
                for partition, end in ends.items()
                if last is None or end is None or (end > last if reverse else end < last)
            ]
        has_more = bool(ends) or len(rows) > limit
        return Page(rows[:limit], [sources[partition] for partition in group], has_more)

    async def _forward(
        self, place: Instance, path: bytes, query: bytes, asked: Asked
    ) -> PeerResponse:
        assert place.address is not None
        target = path + b"?" + query if query else path
        headers = {
            **asked.headers,
            FORWARDED: self._application.instance_id.encode("ascii", "backslashreplace"),
        }
        return await self._peers.get(place.address, target, headers)


def _is_too_stale(answer: Answer, parameters: Parameters) -> bool:
    return parameters.max_lag is not None and answer.lag > parameters.max_lag


def source_model(partition: int, answer: Answer) -> SourceModel:
    """Return where an answer came from, as JSON has it."""
    position = {
        topic: {str(number): offset for number, offset in offsets.items()}
        for topic, offsets in answer.position.items()
    }
    role, instance = answer.source
    return SourceModel(partition, role.value, instance, answer.lag, position, answer.batch)


def _add(whole: Page, part: Page) -> None:
    whole.rows += part.rows
    whole.sources += part.sources
    whole.has_more = whole.has_more or part.has_more


def _page(body: bytes) -> Page:
    try:
        page = _PAGE.decode(body)
        rows: list[tuple[bytes, Row | RowModel]] = [
            (key_bytes(row.cursor or ""), row) for row in page.rows
        ]
    except (msgspec.DecodeError, ValueError) as error:
        raise NotAvailableError(
            "instance-unreachable", "another instance sent an answer that this one cannot read"
        ) from error
    return Page(rows, page.sources, page.truncated)


def _busy(store: str, partition: int, response: PeerResponse) -> NotAvailableError:
    return NotAvailableError(
        "partition-moving",
        f"the instance that has partition {partition} of store {store!r} answers {response.status}",
        fix="ask again in a moment",
    )
