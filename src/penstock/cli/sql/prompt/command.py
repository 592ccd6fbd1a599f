"""``penstock sql [URL]``: type statements, or run those of a file, an option or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import penstock
from penstock.cli.connection import read_properties
from penstock.cli.sql.files import read_text
from penstock.cli.sql.prompt.catalog_words import CatalogWatch
from penstock.cli.sql.prompt.cli_commands import CliCommands
from penstock.cli.sql.prompt.query_view import QueryLimits
from penstock.cli.sql.prompt.screen import Screen, reads_terminal
from penstock.cli.sql.prompt.session import Login, SqlSession
from penstock.cli.sql.prompt.statement_kind import is_complete
from penstock.client.errors import ServerUnreachableError
from penstock.client.options import DEFAULT_URL
from penstock.client.sync_client import Client
from penstock.errors import InvalidArgumentError, PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions:
    """What the user asked for on the command line."""

    url: str | None = None
    execute: Sequence[str] = ()
    file: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    config_file: Path | None = None
    output_format: str = "tabular"
    limits: QueryLimits = field(default_factory=QueryLimits)
    login: Mapping[str, Any] = field(default_factory=dict, repr=False)
    is_embedded: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    bootstrap: str | None = None
    history_file: Path | None = None


def run_command(*, rows: int | None, seconds: float | None, **options: Any) -> int:
    """Run the command with the values of its options, and return the exit code."""
    return run(PromptOptions(limits=QueryLimits(rows, seconds), **options))


def run(options: PromptOptions) -> int:
    """Run the prompt, or the script that was given, and return the exit code."""
    screen = Screen(options.output_format)
    with server_url(options, screen) as url:
        session = SqlSession(
            url,
            screen,
            login=Login(options.login),
            limits=options.limits,
            properties=_properties(options.config_file),
            variables=options.variables,
        )
        try:
            return _run(session, options)
        finally:
            session.close()


def _run(session: SqlSession, options: PromptOptions) -> int:
    script = _script(options)
    if script is None:
        _interactive(session, options)
        return 0
    commands = CliCommands(session)
    return 0 if run_text(session, commands, script) else 1


def run_text(session: SqlSession, commands: CliCommands, text: str) -> bool:
    """Run a script, which may have commands of the prompt on lines of their own.

    Return whether everything went well; the first failure ends it.
    """
    waiting: list[str] = []
    try:
        # Only \n ends a line: Unicode's other line separators may be part of a text in a statement.
        for line in text.split("\n"):
            is_new = not "".join(waiting).strip()
            if is_new and commands.find(line) is not None:
                commands.run(line)
                if commands.is_over or commands.has_failed:
                    return not commands.has_failed
                continue
            waiting.append(line)
            if _ends_statement(waiting):
                if not session.run("\n".join(waiting)):
                    return False
                waiting = []
        return session.run("\n".join(waiting))
    except PenstockError as error:
        session.screen.error(error)
        return False


def _ends_statement(lines: list[str]) -> bool:
    return lines[-1].rstrip().endswith(";") and is_complete("\n".join(lines))


def _script(options: PromptOptions) -> str | None:
    """Return the text to run; None if the user types it."""
    if options.execute:
        return "\n".join(_ended(text) for text in options.execute)
    if options.file is not None:
        return _piped() if str(options.file) == "-" else read_text(options.file)
    return None if reads_terminal() else _piped()


def _piped() -> str:
    """Return what comes through the pipe, which is UTF-8 as files are.

    Raises:
        InvalidArgumentError: ``bad-text``.
    """
    try:
        text = sys.stdin.read()
        # In some locales Python puts undecodable bytes into the text as surrogates.
        text.encode()
    except UnicodeError as error:
        raise InvalidArgumentError(
            "bad-text", f"the statements in the pipe are not UTF-8: {error}", fix="convert them"
        ) from None
    return text.removeprefix("\ufeff")


def _ended(text: str) -> str:
    """Add a missing semicolon, on a new line so that a comment at the end does not hide it."""
    return text if is_complete(text) else f"{text}\n;"


def _properties(file: Path | None) -> dict[str, str]:
    """Return the properties of statements that a file has; it may also have other settings."""
    if file is None:
        return {}
    found = read_properties(file)
    prefixes = ("ksql.", "auto.offset.reset", "processing.guarantee")
    return {name: value for name, value in found.items() if name.startswith(prefixes)}


def _interactive(session: SqlSession, options: PromptOptions) -> None:
    from penstock.cli.sql.prompt.line_editor import (  # noqa: PLC0415 - a pipe needs no editor
        LineEditor,
        default_history_file,
    )

    catalog = CatalogWatch(lambda: session.client)
    catalog.refresh()
    session.on_change = catalog.refresh
    commands = CliCommands(session)
    editor = LineEditor(
        catalog,
        lambda text: commands.find(text) is not None,
        lambda: f" {session.url}   output {session.screen.format}   help, exit, Tab",
        history_file=options.history_file or default_history_file(),
    )
    commands.history = editor.typed_before
    _greet(session)
    while not commands.is_over:
        try:
            text = editor.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        _answer(session, commands, text)


def _answer(session: SqlSession, commands: CliCommands, text: str) -> None:
    """Run what was typed, and show what goes wrong."""
    session.screen.typed(text)
    try:
        if not commands.run(text):
            session.run(text)
    except PenstockError as error:
        session.screen.error(error, text)
    except KeyboardInterrupt:
        session.screen.note("interrupted; the server may still run the statement")


def _greet(session: SqlSession) -> None:
    screen = session.screen
    try:
        info = session.client.server_info()
    except PenstockError as error:
        screen.error(error)
        return
    screen.note(
        f"penstock {penstock.__version__}, server {info.version} at {session.url}"
        f" ({info.service_id}, {info.status})\ntype help for commands, exit to leave"
    )


@contextmanager
def server_url(options: PromptOptions, screen: Screen) -> Iterator[str]:
    """Yield the address to talk to; without a server one is started in this process."""
    if options.url is not None:
        yield options.url
    elif not options.is_embedded and _answers(DEFAULT_URL, options.login):
        yield DEFAULT_URL
    else:
        from penstock.cli.sql.prompt.embedded import embedded_server  # noqa: PLC0415 - heavy

        with embedded_server(options.settings, options.bootstrap, screen) as url:
            yield url


def _answers(url: str, login: Mapping[str, Any]) -> bool:
    try:
        with Client(url, **{**login, "timeout": 2.0}) as client:
            client.server_info()
    except ServerUnreachableError:
        return False
    except PenstockError:
        # The server refuses the request, but it is there. The session reports the reason.
        return True
    return True
