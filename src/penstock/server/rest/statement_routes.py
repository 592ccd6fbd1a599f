"""``/ksql`` and what belongs to it: statements, their status, and the end of a cluster."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import orjson
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from penstock.model.sql.errors import FunctionError
from penstock.server.applying import DELETE_TOPICS, Written
from penstock.server.commands.command import Command
from penstock.server.commands.ids import TERMINATE_CLUSTER
from penstock.server.entities.statuses import command_status, current_status
from penstock.server.errors import BadRequestError, ForbiddenError, NotFoundError, ServerError
from penstock.server.node import ServerNode
from penstock.server.request import Steps
from penstock.server.rest.replies import answering, body_of
from penstock.serving.credentials import Access
from penstock.sql.functions.regex.java_regex import java_pattern
from penstock.sql.setting_names import check_changeable, check_setting

T = TypeVar("T")
_TERMINATE = "TERMINATE CLUSTER;"
#: How many statements run at a time. Those that change something run one after the other anyway.
_THREADS = 16


class StatementRoutes:
    """Run statements that arrive over HTTP, each request in a thread of its own."""

    def __init__(self, node: ServerNode) -> None:
        self._node = node
        # A pool of its own: statements that wait for Kafka must not use up the threads that answer
        # the health check.
        self._threads = ThreadPoolExecutor(_THREADS, "penstock-statement")

    def close(self) -> None:
        """Accept no more statements, and do not wait for those that are running."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/ksql", answering(self.ksql), methods=["POST"]),
            Route("/ksql/terminate", answering(self.terminate), methods=["POST"]),
            Route("/status", answering(self.all_statuses), methods=["GET"]),
            Route("/status/{id:path}", answering(self.status), methods=["GET"]),
            Route("/is_valid_property/{name}", answering(self.is_valid_property), methods=["GET"]),
        ]

    async def ksql(self, request: Request) -> Any:
        body = await body_of(request)
        sql = body.get("ksql")
        if not isinstance(sql, str):
            raise BadRequestError("bad-body", "the body has no text 'ksql'", fix="send one")
        sequence = body.get("commandSequenceNumber")
        if not isinstance(sequence, int | None) or isinstance(sequence, bool):
            raise BadRequestError("bad-body", "commandSequenceNumber is not a whole number")
        await self._node.caught_up(sequence)
        properties = mapping(body, "streamsProperties")
        variables = mapping(body, "sessionVariables")
        access = access_of(request)
        steps = self._node.steps(sql, properties, variables, access)
        return await self._run_all(steps, request)

    async def _run_all(self, steps: Steps[T], request: Request) -> T:
        """Run each step in a thread, and hold no thread while waiting between steps.

        ASSERT may wait for hours: sixteen of them would otherwise block all other statements.
        """
        while True:
            pause_s, result = await self._run(lambda: _next(steps))
            if pause_s is None:
                return cast(T, result)
            await asyncio.sleep(pause_s)
            if await request.is_disconnected():
                raise ServerError("gone", "the client has left")

    async def terminate(self, request: Request) -> Any:
        body = await body_of(request)
        if access_of(request) < Access.FULL:
            raise ForbiddenError("forbidden", "ending the cluster needs the role admin")
        patterns = body.get("deleteTopicList") or []
        if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
            raise BadRequestError("bad-body", "deleteTopicList is not a list of texts")
        for text in patterns:
            try:
                java_pattern(text)
            except (re.error, FunctionError):
                raise BadRequestError("bad-pattern", f"Invalid pattern: {text}") from None
        return [await self._run(lambda: self._terminate(patterns))]

    def _terminate(self, patterns: list[str]) -> Any:
        def prepare(number: int) -> Written:
            properties = {DELETE_TOPICS: orjson.dumps(patterns).decode()}
            return Written(
                Command(
                    id=TERMINATE_CLUSTER, statement=_TERMINATE, properties=properties, number=number
                )
            )

        self._node.refuse_if_ended()
        done = self._node.submit(prepare)
        assert done is not None
        sequence, command, status = done
        return current_status(_TERMINATE, command.id, status, sequence)

    async def all_statuses(self, request: Request) -> Any:
        statuses = self._node.runner.statuses.all()
        return {"commandStatuses": {name: status.status for name, status in statuses.items()}}

    async def status(self, request: Request) -> Any:
        command_id = request.path_params["id"]
        status = self._node.runner.statuses.get(command_id)
        if status is None:
            raise NotFoundError("unknown-command", f"there was no command {command_id!r}")
        return command_status(status)

    async def is_valid_property(self, request: Request) -> Any:
        name = request.path_params["name"]
        self._node.checked({name: None})
        check_changeable(name, None)
        check_setting(name, None, None)
        return True


def _next(steps: Steps[T]) -> tuple[float | None, T | None]:
    """Run one step; return how long to wait for the next one, or the result after the last."""
    try:
        return next(steps), None
    except StopIteration as done:
        return None, done.value


def mapping(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object inside a body.

    Raises:
        BadRequestError: ``bad-body``.
    """
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadRequestError("bad-body", f"{name} is not a JSON object")
    return value


def access_of(request: Request) -> Access:
    """Return what the caller may do, as the guard found it."""
    found: Access = request.scope.get("penstock.access", Access.FULL)
    return found
