"""One session of the prompt: its properties, its variables, and what becomes of a statement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from penstock.cli.sql.files import read_text
from penstock.cli.sql.prompt.entities import shown
from penstock.cli.sql.prompt.query_view import QueryLimits, QueryView
from penstock.cli.sql.prompt.screen import Screen
from penstock.cli.sql.prompt.statement_kind import (
    Kind,
    Statement,
    assignment,
    is_push,
    script_path,
    statements,
)
from penstock.client.async_client import AsyncClient
from penstock.client.descriptions import ServerInfo
from penstock.client.errors import RequestRefusedError
from penstock.client.sync_client import Client
from penstock.errors import InvalidArgumentError, PenstockError

#: How deep scripts may run scripts; more is a script that runs itself.
_MAX_SCRIPTS = 10


@dataclass(frozen=True, slots=True)
class Login:
    """What the session's clients need besides the address."""

    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def blocking(self, url: str) -> Client:
        return Client(url, **self.arguments)

    def awaiting(self, url: str) -> AsyncClient:
        return AsyncClient(url, **self.arguments)


class SqlSession:
    """Run statements on a server, one after the other, and print what comes back."""

    def __init__(
        self,
        url: str,
        screen: Screen,
        *,
        login: Login | None = None,
        limits: QueryLimits | None = None,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = screen
        self.limits = limits or QueryLimits()
        self.properties: dict[str, Any] = dict(properties or {})
        self.is_pipelining = False
        self._login = login or Login()
        self._variables = dict(variables or {})
        self._scripts = 0
        #: Called when a statement may have changed the catalog.
        self.on_change: Callable[[], None] = lambda: None
        self.client = self._connect(url)

    @property
    def url(self) -> str:
        return self.client.options.base_url

    @property
    def variables(self) -> dict[str, str]:
        return dict(self._variables)

    def use_server(self, url: str) -> ServerInfo:
        """Talk to another server from now on, if it answers.

        Raises:
            ServerUnreachableError: it does not; the session keeps its server.
        """
        client = self._connect(url)
        try:
            info = client.server_info()
        except PenstockError:
            client.close()
            raise
        self.client.close()
        self.client = client
        return info

    def close(self) -> None:
        self.screen.stop_spool()
        self.client.close()

    def run(self, script: str) -> bool:
        """Run a script up to the first statement that fails; return whether all went well."""
        try:
            pieces = statements(script)
        except PenstockError as error:
            self.screen.error(error, script)
            return False
        return all(self._run_shown(piece) for piece in pieces)

    def _run_shown(self, statement: Statement) -> bool:
        try:
            self.execute(statement)
        except PenstockError as error:
            if isinstance(error, RequestRefusedError):
                self._print_entities(error.entities)
            self.screen.error(error, statement.text)
            return False
        return True

    def execute(self, statement: Statement) -> None:
        """Run one statement.

        Raises:
            PenstockError: it was refused.
        """
        text = statement.text
        match statement.kind:
            case Kind.QUERY:
                view = QueryView(self.screen, self.limits, is_push=is_push(text))
                view.run(self._new_async_client, text, self.properties)
            case Kind.PRINT:
                self._print_topic(text)
            case Kind.SET | Kind.UNSET:
                self._set(statement)
            case Kind.DEFINE:
                found = assignment(text, self._variables)
                self._define(found.name, found.value)
            case Kind.UNDEFINE:
                self._undefine(assignment(text, self._variables).name)
            case Kind.RUN_SCRIPT:
                self.run_script(Path(script_path(text)))
            case Kind.STATEMENT:
                entities = self._client_for_statement().entities(text, self.properties)
                self._print_entities(entities)
                # INSERT VALUES has no entity; a user sees that it is done, a pipe needs no word.
                if not entities and self.screen.is_terminal and not self.screen.is_json:
                    self.screen.print(Text("✓", style="green"))
                self.on_change()

    def run_script(self, file: Path) -> None:
        """Run the statements of a file in this session; it stops at the first that fails.

        Raises:
            PenstockError: the file cannot be read, or a statement of it was refused.
        """
        if self._scripts == _MAX_SCRIPTS:
            raise InvalidArgumentError(
                "nested-too-deeply", f"script {str(file)!r} is run by {_MAX_SCRIPTS} others"
            )
        self._scripts += 1
        try:
            for statement in statements(read_text(file)):
                try:
                    self.execute(statement)
                except RequestRefusedError as error:
                    self._print_entities(error.entities)
                    raise _in_file(error, file, statement) from None
        finally:
            self._scripts -= 1

    def _set(self, statement: Statement) -> None:
        found = assignment(statement.text, self._variables)
        if statement.kind is Kind.UNSET:
            was = self.properties.pop(found.name, None)
            said = "was not set" if was is None else f"is no longer {was!r}"
            self.screen.note(f"{found.name} {said}")
            return
        self.client.check_property(found.name)
        self.properties[found.name] = found.value
        self.screen.note(f"{found.name} is now {found.value!r}")

    def _define(self, name: str, value: str) -> None:
        self._undefine(name)
        self._variables[name] = value
        self.client.define(name, value)

    def _undefine(self, name: str) -> None:
        # Names of variables ignore case.
        for known in [each for each in self._variables if each.upper() == name.upper()]:
            del self._variables[known]
            self.client.undefine(known)

    def _print_topic(self, sql: str) -> None:
        with suppress(KeyboardInterrupt):
            asyncio.run(self._print_records(sql))

    async def _print_records(self, sql: str) -> None:
        limits = self.limits
        count = 0
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(limits.seconds),
                self._new_async_client() as client,
                await client.print_topic(sql, self.properties) as records,
            ):
                async for line in records.lines():
                    self.screen.line(line.decode("utf-8", "replace"))
                    count += 1
                    if count == limits.rows:
                        return

    def _print_entities(self, entities: Any) -> None:
        if not entities:
            return
        if self.screen.is_json:
            self.screen.json(entities)
            return
        for entity in entities:
            for part in shown(entity):
                self.screen.print(part)

    def _client_for_statement(self) -> Client:
        if self.is_pipelining:
            # Statements need not wait for the command before them.
            self.client.forget_sequence()
        return self.client

    def _connect(self, url: str) -> Client:
        client = self._login.blocking(url)
        for name, value in self._variables.items():
            client.define(name, value)
        return client

    def _new_async_client(self) -> AsyncClient:
        client = self._login.awaiting(self.url)
        for name, value in self._variables.items():
            client.define(name, value)
        return client


def _in_file(error: RequestRefusedError, file: Path, statement: Statement) -> RequestRefusedError:
    """Return the same error, with the file and line of its statement."""
    where = f"{file}:{statement.line}"
    code, _, *rest = error.args
    return RequestRefusedError(code, f"{where}: {error.message}", *rest)
