"""Change feeds: committed changes of a store, to a browser or a program, as they happen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from msgspec import Raw

from penstock.serving.application import Queryable, StoreChange, StoreInfo, Subscription
from penstock.serving.parameters import bad_request
from penstock.serving.replies import encoder
from penstock.serving.wire.json_values import NULL, to_raw
from penstock.serving.wire.models import ChangeModel

_SINCE = re.compile(r"[0-9]{1,6}:[0-9]{1,18}(,[0-9]{1,6}:[0-9]{1,18})*", re.ASCII)
#: How many changes may wait for a slow reader. If more would wait, the feed ends and says why.
MOST_WAITING = 10_000
#: A reader gets a heartbeat after this many seconds without a change.
HEARTBEAT_S = 15.0


def since(text: str | None, info: StoreInfo) -> dict[int, int] | None:
    """Parse where a feed resumes: ``partition:offset`` with commas, the id of an SSE event."""
    if not text:
        return None
    if not _SINCE.fullmatch(text):
        raise bad_request("a feed resumes at partition:offset, with commas between them")
    found = {
        int(partition): int(offset)
        for partition, _, offset in (each.partition(":") for each in text.split(","))
    }
    if any(partition >= info.partitions for partition in found):
        raise bad_request(f"store {info.name!r} has {info.partitions} partitions")
    return found


class Feed:
    """One reader's feed: an asynchronous context manager, and an iterator of bunches of changes.

    An empty bunch is a heartbeat. ``has_overflowed`` and ``failure`` say why the iterator ended
    early.
    """

    def __init__(
        self,
        application: Queryable,
        info: StoreInfo,
        start: Mapping[int, int] | None,
        threads: ThreadPoolExecutor,
    ) -> None:
        self.info = info
        self.has_overflowed = False
        #: The offset of the next change that the reader has not got, by partition.
        self.position: dict[int, int] = dict(start or {})
        self._application = application
        self._start = start
        self._threads = threads
        self._waiting: list[StoreChange] = []
        self._wakes = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Feed:
        subscribe = self._application.subscribe
        self._subscription = await self._loop.run_in_executor(
            self._threads, subscribe, self.info.name, self._start, self._listen
        )
        self.position = {**self._subscription.start, **self.position}
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._subscription is not None:
            close = self._loop.run_in_executor(self._threads, self._subscription.close)
            await asyncio.shield(close)

    def _listen(self, changes: Sequence[StoreChange]) -> None:
        """Take changes from the thread that reads them."""
        try:
            self._loop.call_soon_threadsafe(self._take, changes)
        except RuntimeError:
            # The loop has ended: so has the reader.
            return

    def _take(self, changes: Sequence[StoreChange]) -> None:
        if len(self._waiting) + len(changes) > MOST_WAITING:
            self.has_overflowed = True
        if not self.has_overflowed:
            self._waiting += changes
        self._wakes.set()

    async def bunches(self) -> AsyncIterator[list[StoreChange]]:
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._wakes.wait()
            except TimeoutError:
                yield []
                continue
            self._wakes.clear()
            waiting, self._waiting = self._waiting, []
            if waiting:
                for change in waiting:
                    self.position[change.partition] = change.offset + 1
                yield waiting
            if self.has_overflowed or self.failure is not None:
                return

    @property
    def failure(self) -> str | None:
        """Why the source of the changes has failed; None while it works."""
        return None if self._subscription is None else self._subscription.failure

    @property
    def position_text(self) -> str:
        return ",".join(f"{part}:{offset}" for part, offset in sorted(self.position.items()))


def change_model(info: StoreInfo, change: StoreChange) -> ChangeModel:
    topic = info.changelog
    value: Raw = NULL if change.value is None else to_raw(change.value, info.value_serde, topic)
    return ChangeModel(
        change.partition,
        change.offset,
        to_raw(change.key, info.key_serde, topic),
        value,
        change.timestamp,
        change.window_start,
        change.window_end,
    )


async def events(feed: Feed) -> AsyncIterator[bytes]:
    """Yield a feed as server-sent events; the id of an event is where a reader resumes."""
    yield _event(feed, b"start", b"{}")
    async for bunch in feed.bunches():
        if not bunch:
            yield b": still here\n\n"
            continue
        texts = [encoder.encode(change_model(feed.info, change)) for change in bunch]
        before = b"".join(b"event: change\ndata: " + text + b"\n\n" for text in texts[:-1])
        # The id is the position after the whole bunch, so only its last event has one.
        yield before + _event(feed, b"change", texts[-1])
    if feed.has_overflowed:
        yield _event(feed, b"overflow", b"{}")
    elif feed.failure is not None:
        yield _event(feed, b"failure", encoder.encode({"message": feed.failure}))


def _event(feed: Feed, kind: bytes, data: bytes) -> bytes:
    place = feed.position_text.encode()
    return b"id: " + place + b"\nevent: " + kind + b"\ndata: " + data + b"\n\n"
