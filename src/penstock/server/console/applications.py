"""``/applications/{query}/…``: a running query, asked as ``application.server`` of a program is.

``/applications/CTAS_VIEWS_6/status`` is what ``/status`` is there: state, topology, stores, feeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from penstock.serving.application import Queryable
from penstock.serving.asgi import QueryAnswers
from penstock.serving.options import ServerOptions
from penstock.serving.replies import refuse

#: Where the paths of a query begin.
PREFIX = "/applications/"


@dataclass(frozen=True, slots=True)
class _Opened:
    """The answers about one run of a query."""

    streams: Any
    answers: QueryAnswers


class Applications:
    """Answers about running queries. They are made when they are first asked for.

    Args:
        running: returns the application of a query; None if it does not run on this server.
        open_one: returns an application as a server sees it.
        options: the limits of a request.
    """

    def __init__(
        self,
        running: Callable[[str], Any],
        open_one: Callable[[Any], Queryable],
        options: ServerOptions,
    ) -> None:
        self._running, self._open, self._options = running, open_one, options
        self._opened: dict[str, _Opened] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: bytes = scope["raw_path"] or scope["path"].encode()
        name, slash, rest = path.decode("latin-1").removeprefix(PREFIX).partition("/")
        answers = self._answers(unquote(name))
        if answers is None or not slash:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
            text = "no such query runs on this server"
            await refuse(send, 404, "no-such-query", text)
            return
        inner = f"/{rest}"
        await answers(
            {**scope, "path": unquote(inner), "raw_path": inner.encode("latin-1")}, receive, send
        )

    def queryable(self, name: str) -> Queryable | None:
        """Return a running query as a server sees it."""
        streams = self._running(name)
        return None if streams is None else self._open(streams)

    def end_feeds(self) -> None:
        """End feeds, which never end by themselves."""
        for each in self._opened.values():
            each.answers.end_feeds()

    def close(self) -> None:
        """Free what the answers have opened."""
        opened, self._opened = self._opened, {}
        for each in opened.values():
            each.answers.close()

    def _answers(self, name: str) -> QueryAnswers | None:
        """Return the answers about a query that runs; forget those about runs that have ended."""
        for known, each in list(self._opened.items()):
            if self._running(known) is not each.streams:
                del self._opened[known]
                # Closing waits for a sample that may be under way.
                asyncio.get_running_loop().run_in_executor(None, each.answers.close)
        opened = self._opened.get(name)
        if opened is None:
            streams = self._running(name)
            if streams is None:
                return None
            answers = QueryAnswers(self._open(streams), self._options)
            opened = self._opened[name] = _Opened(streams, answers)
        return opened.answers
