"""``/console/``, ``/about`` and ``/applications``: the console of an SQL server."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from penstock.errors import PenstockError
from penstock.extras import package_version
from penstock.runtime.spark.driver.observing.serving import queryable
from penstock.server.console.applications import Applications
from penstock.server.console.models import (
    ApplicationModel,
    ApplicationsModel,
    QueryFailureModel,
)
from penstock.server.node import ServerNode
from penstock.server.security.masking import masked
from penstock.serving.application import Queryable
from penstock.serving.console.files import PAGES, console_routes
from penstock.serving.credentials import Access
from penstock.serving.options import ServerOptions
from penstock.serving.replies import json_response
from penstock.serving.status.values import ApplicationStatus
from penstock.serving.wire.models import AboutModel
from penstock.sql.catalog.catalog import PersistentQuery

#: Pages of the server itself; those of an application are shown for each query.
_OWN_PAGES = ("sql", "queries")


class ConsoleService:
    """The part of a server that its console needs beside statements and queries."""

    def __init__(
        self,
        node: ServerNode,
        options: ServerOptions,
        open_one: Callable[[Any], Queryable] = queryable,
        *,
        takes_statements: bool = True,
    ) -> None:
        self._node, self._takes_statements = node, takes_statements
        self._applications = Applications(node.running, open_one, options)

    def routes(self) -> Sequence[BaseRoute]:
        return [
            *console_routes(),
            Route("/about", self.about, methods=["GET"]),
            Route("/applications", self.applications, methods=["GET"]),
            _mounted("/applications", self._applications),
        ]

    def end_feeds(self) -> None:
        self._applications.end_feeds()

    def close(self) -> None:
        self._applications.close()

    async def about(self, request: Request) -> Response:
        access: Access = request.scope["penstock.access"]
        name = self._node.options.service_id
        pages = [*(_OWN_PAGES if self._takes_statements else _OWN_PAGES[1:]), *PAGES]
        return json_response(
            AboutModel("sql-server", name, package_version(), access.name.lower(), pages)
        )

    async def applications(self, request: Request) -> Response:
        """List the persistent queries with what each of them does on this server."""
        queries = sorted(self._node.engine.catalog.queries.items())
        found = await asyncio.to_thread(lambda: [self._described(query) for _, query in queries])
        return json_response(ApplicationsModel(self._node.options.service_id, found))

    def _described(self, query: PersistentQuery) -> ApplicationModel:
        status = self._status(query.id)
        lag = None if status is None or status.lag is None else status.lag
        return ApplicationModel(
            id=query.id,
            statement=masked(query.sql),
            sources=sorted({source.name for source in query.plan.sources}),
            sinks=[] if query.sink is None else [query.sink],
            status=self._node.supervisor.status(query.id),
            runs_here=status is not None,
            state=None if status is None else status.state,
            waiting=None if status is None or status.waiting is None else status.waiting.what,
            records=0 if status is None else status.records,
            lag=None if lag is None else sum(sum(parts.values()) for parts in lag.values()),
            failures=[
                QueryFailureModel(failure.time_ms, failure.message, failure.error_class)
                for failure in self._node.failures(query.id)
            ],
        )

    def _status(self, name: str) -> ApplicationStatus | None:
        found = self._applications.queryable(name)
        # A query that is ending cannot be asked.
        with contextlib.suppress(PenstockError):
            return None if found is None else found.status(is_watched=False)
        return None


def _mounted(path: str, application: ASGIApp) -> Mount:
    """Let an application answer for all that is below a path; also for names with a line break."""
    mount = Mount(path, application)
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)
    return mount
