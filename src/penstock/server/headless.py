"""A server that runs a file: its statements are the commands, and requests cannot add any."""

from __future__ import annotations

import threading

from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.server.commands.command import Command
from penstock.server.commands.ids import command_id_of
from penstock.server.commands.log import Entry
from penstock.server.connectors import is_about_connectors
from penstock.server.errors import NotReadyError
from penstock.server.resolving import with_columns
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.engine import SqlEngine
from penstock.sql.session import SqlSession
from penstock.sql.syntax.masking import blotted
from penstock.sql.syntax.parser import StatementText, split_statements
from penstock.sql.trial import Trial

_SESSION = (admin.SetProperty, admin.UnsetProperty, admin.Define, admin.Undefine)
_ALLOWED = (
    ast.CreateSource,
    ast.CreateAsSelect,
    ast.InsertInto,
    ast.CreateType,
    ast.DropType,
    ast.CreateFunction,
    ast.AlterSource,
)


def file_commands(script: str, engine: SqlEngine) -> list[Command]:
    """Return the statements of a file as commands, after all of them were checked.

    Ids of queries follow from what they write and read, so a query keeps its state when others
    are put before it. Schemas are registered here, before any query starts.

    Raises:
        SqlError: a statement is refused, or is not one for a file.
    """
    session = engine.session()
    commands: list[Command] = []
    for piece in split_statements(script):
        statement = _parsed(piece, script, session)
        if is_about_connectors(statement):
            raise _connector_in_file(statement, piece, script)
        if not isinstance(statement, (*_SESSION, *_ALLOWED)):
            raise _not_for_files(statement, script)
        trial = _placed(piece, script, session)
        if command_id_of(statement) is not None:
            engine.register(trial)
            commands.append(
                Command(
                    id=command_id_of(statement) or "",
                    statement=with_columns(statement, trial.catalog, piece.text),
                    properties=dict(session.catalog.properties),
                    variables=dict(session.catalog.variables),
                    topics=dict(trial.catalog.topics),
                    number=None,
                )
            )
        session.catalog = trial.catalog
    if not session.catalog.queries:
        raise AnalysisError(
            "no-queries",
            "the file has no query that could run",
            fix="add CREATE STREAM ... AS, CREATE TABLE ... AS or INSERT INTO ... SELECT",
        )
    return commands


def _parsed(piece: StatementText, script: str, session: SqlSession) -> Node:
    try:
        return piece.parsed(session.catalog.variables)
    except SqlError as error:
        raise error.pointing_into(script) from None


def _placed(piece: StatementText, script: str, session: SqlSession) -> Trial:
    try:
        return session.trial(piece.placed_in(script))
    except SqlError as error:
        raise error.pointing_into(script) from None


def _connector_in_file(statement: Node, piece: StatementText, script: str) -> SqlError:
    """Refuse a statement about connectors by its name, as ksqlDB's headless mode does.

    Every server of a service runs the file at each start, and connectors are kept by Kafka Connect.
    """
    words = " ".join(piece.text.split("(")[0].split()).removesuffix(" WITH").removesuffix(";")
    return AnalysisError(
        "connector-in-a-file",
        f"{words} cannot stand in a file that a server runs: connectors belong to Kafka Connect",
        fix="take it out of the file, and run it once in an interactive server (penstock sql), with"
        " penstock sql run, or with the REST interface of Kafka Connect",
        span=statement.span,
    ).with_source(blotted(script))


def _not_for_files(statement: Node, script: str) -> SqlError:
    return AnalysisError(
        "not-in-a-file",
        f"{type(statement).__name__} cannot stand in a file that a server runs",
        fix="files have CREATE, INSERT INTO ... SELECT, ALTER, SET, UNSET, DEFINE and UNDEFINE",
        span=statement.span,
    ).with_source(script)


class FileLog:
    """The commands of a file, as a log that is complete from the beginning."""

    def __init__(self, commands: list[Command]) -> None:
        self._entries = [
            Entry(offset, command.id.encode(), command.to_bytes())
            for offset, command in enumerate(commands)
        ]
        self._position = 0
        self._idle = threading.Event()

    @property
    def position(self) -> int:
        return self._position

    def begin(self) -> int:
        return 0

    def end(self) -> int:
        return len(self._entries)

    def read(self) -> list[Entry]:
        if self._position == len(self._entries):
            self._idle.wait(0.1)
            return []
        self._position += 1
        return [self._entries[self._position - 1]]

    def become_writer(self) -> bool:
        raise NotReadyError(
            "headless", "this server runs a file and takes no statements", fix="change the file"
        )

    def write(self, key: bytes, value: bytes) -> int:
        raise AssertionError("the commands of a file have no writer")

    def close(self) -> None:
        self._idle.set()
