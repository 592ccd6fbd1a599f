"""Follows the next records of a topic for one reader: asks the threads again and again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from penstock.errors import SerializationError
from penstock.serving.application import NotAvailableError, Queryable
from penstock.serving.in_thread import in_thread
from penstock.serving.journey.journey import check_source
from penstock.serving.journey.values import Journeys, RecordWatch, Traced
from penstock.serving.key_text import bad_key, parse_key
from penstock.serving.parameters import Parameters

#: How often threads are asked, and after how many questions a reader gets a sign of life.
EVERY_S, HEARTBEAT = 0.5, 20
MOST_WATCHES = 8


class LiveJourney:
    """One reader's watch. The application may begin anew meanwhile, so its tools are asked for."""

    def __init__(self, tools: Callable[[], Journeys], watch: RecordWatch, request_s: float) -> None:
        self.tools = tools
        self._watch, self._request_s = watch, request_s
        self._found = Traced()

    async def ask(self) -> None:
        """Ask for what was traced since the last question; the first one begins the watch."""
        self._found = await in_thread(lambda: self.tools().traced(self._watch), self._request_s)

    async def news(self) -> AsyncIterator[Traced | None]:
        """Yield what is traced as it comes, and now and then ``None`` if nothing does."""
        quiet = 0
        while True:
            found = self._found
            quiet = 0 if found.traces or found.missed else quiet + 1
            if not quiet:
                yield found
            elif quiet % HEARTBEAT == 1:
                yield None
            await asyncio.sleep(EVERY_S)
            await self.ask()


class LiveJourneys:
    """The watches of all readers; there are few, because a watched task is slower."""

    def __init__(self, application: Queryable, request_s: float) -> None:
        self._application, self._request_s = application, request_s
        self._open = 0

    @asynccontextmanager
    async def watching(self, topic: str, given: Parameters) -> AsyncIterator[LiveJourney]:
        """Begin to watch records, until the body ends.

        Raises:
            NotAvailableError: there are too many watches, or the application does not run here.
            InvalidArgumentError: it does not read the topic, or the key is none of it.
        """
        if self._open >= MOST_WATCHES:
            raise NotAvailableError(
                "too-many-watches",
                f"{MOST_WATCHES} readers watch records already, which is the limit",
                fix="close one of them",
            )
        self._open += 1
        try:
            watch = await asyncio.to_thread(self._watch, topic, given)
            live = LiveJourney(self._application.journeys, watch, self._request_s)
            # The first question begins the watch: what fails is an answer, not an event.
            await live.ask()
            yield live
        finally:
            self._open -= 1

    def _watch(self, topic: str, given: Parameters) -> RecordWatch:
        tools = self._application.journeys()
        check_source(tools, topic)
        key = None
        if given.key is not None:
            serde, _ = tools.sources()[topic]
            parsed = parse_key(serde, topic, given.key, given.key_format)
            try:
                key = serde.serialize(topic, parsed)
            except (SerializationError, TypeError, ValueError):
                raise bad_key(given.key, "a key of this topic") from None
        return RecordWatch(name=uuid.uuid4().hex, topic=topic, key=key, every=given.every or 1)
