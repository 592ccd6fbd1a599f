"""The command topic of ksqlDB as a script, so that a service can move to Penstock.

Only the statements are read, not the plans: Penstock plans the statements itself. An entry that
cannot be read becomes a comment with its offset and the reason, so no entry is lost silently.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from penstock.errors import SerializationError
from penstock.kafka.topic_reader import has_reached
from penstock.model.sql.errors import SqlError
from penstock.server.commands.log import Entry
from penstock.server.reading import Topics
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.setting_names import check_changeable, check_setting
from penstock.sql.syntax.format_expression import string
from penstock.sql.syntax.parser import parse_statement

#: The newest version of ksqlDB's commands whose fields are known.
KNOWN_VERSION = 18
_POLL_S = 0.5
_TERMINATE_CLUSTER = "TERMINATE CLUSTER"


def ksqldb_commands_topic(service_id: str) -> str:
    """Return the name of the command topic of a ksqlDB service.

    >>> ksqldb_commands_topic("default_")
    '_confluent-ksql-default__command_topic'
    """
    return f"_confluent-ksql-{service_id}_command_topic"


@dataclass(frozen=True, slots=True)
class KsqldbCommand:
    """One statement of ksqlDB, with the settings that were in force and the query that it made."""

    offset: int
    statement: str
    properties: Mapping[str, str] = field(default_factory=dict)
    query_id: str | None = None

    @staticmethod
    def of(entry: Entry) -> KsqldbCommand:
        """Read a record.

        Raises:
            SerializationError: ``bad-ksqldb-command``, or ``newer-ksqldb-command``.
        """
        try:
            data = orjson.loads(entry.value or b"")
        except ValueError:
            raise _bad("it is not JSON") from None
        if not isinstance(data, dict) or not isinstance(data.get("statement"), str):
            raise _bad("it has no text 'statement'")
        version = data.get("version")
        if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
            raise _bad(f"its version is {version!r}")
        if version is not None and version > KNOWN_VERSION:
            raise SerializationError(
                "newer-ksqldb-command",
                f"the command has version {version}, and versions up to {KNOWN_VERSION} are known",
                fix="copy the statement from SHOW STREAMS EXTENDED and SHOW QUERIES of ksqlDB",
            )
        properties = data.get("streamsProperties") or {}
        if not isinstance(properties, dict):
            raise _bad("its streamsProperties are not a JSON object")
        given = {name: _text(value) for name, value in properties.items() if value is not None}
        return KsqldbCommand(entry.offset, data["statement"].strip(), given, _query_id(data))


def _query_id(data: Mapping[str, Any]) -> str | None:
    """Return the query id in the plan; None if there is no plan, or one of an unknown kind."""
    plan = data.get("plan")
    query = plan.get("queryPlan") if isinstance(plan, dict) else None
    found = query.get("queryId") if isinstance(query, dict) else None
    return found if isinstance(found, str) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def _bad(why: str) -> SerializationError:
    return SerializationError(
        "bad-ksqldb-command", f"the record is not a command of ksqlDB: {why}", fix="leave it out"
    )


@dataclass(frozen=True, slots=True)
class KsqldbScript:
    """A script, how many statements it has, and what was not taken over."""

    text: str
    statements: int
    notes: tuple[str, ...]


def as_script(entries: Iterable[Entry]) -> KsqldbScript:
    """Return the statements of ksqlDB's command topic as a script, in the order of the topic."""
    script = _Script()
    for entry in entries:
        script.take(entry)
    return script.done()


class _Script:
    """Collect the statements of a script.

    TERMINATE, PAUSE and RESUME name a query by its id, which differs in Penstock. So they are
    applied here and do not become statements of the script.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[KsqldbCommand, Node]] = {}
        self._paused: dict[str, int] = {}
        self._notes: list[tuple[int, str]] = []

    def take(self, entry: Entry) -> None:
        try:
            command = KsqldbCommand.of(entry)
            if command.statement.upper().startswith(_TERMINATE_CLUSTER):
                self._kept.clear()
                return
            statement = parse_statement(command.statement)
        except (SerializationError, SqlError) as error:
            self._notes.append((entry.offset, f"[{error.code}] {error.message}"))
            return
        if isinstance(statement, admin.ControlQuery):
            self._control(command, statement)
        else:
            self._kept[command.offset] = (command, statement)

    def _control(self, command: KsqldbCommand, statement: admin.ControlQuery) -> None:
        for offset, (each, made_by) in list(self._kept.items()):
            if each.query_id is None or statement.query_id not in (None, each.query_id):
                continue
            if statement.action == "PAUSE":
                self._paused[each.query_id] = command.offset
                continue
            self._paused.pop(each.query_id, None)
            if statement.action == "TERMINATE" and isinstance(made_by, ast.InsertInto):
                del self._kept[offset]
            elif statement.action == "TERMINATE":
                self._note(command, f"{each.query_id} was terminated, and the script starts it")

    def _note(self, command: KsqldbCommand, text: str) -> None:
        self._notes.append((command.offset, text))

    def done(self) -> KsqldbScript:
        lines: list[str] = []
        in_force: Mapping[str, str] = {}
        for command, _ in self._kept.values():
            wanted = dict(self._settings(command))
            lines += _changes(in_force, wanted)
            lines.append(f"{command.statement.rstrip(';').rstrip()};")
            in_force = wanted
        for query_id, offset in self._paused.items():
            self._notes.append((offset, f"{query_id} was paused, and the script starts it"))
        notes = tuple(f"offset {at}: {' '.join(why.split())}" for at, why in sorted(self._notes))
        text = [*(f"-- Not taken over: {note}" for note in notes), *lines]
        return KsqldbScript("".join(f"{line}\n" for line in text), len(self._kept), notes)

    def _settings(self, command: KsqldbCommand) -> Iterator[tuple[str, str]]:
        """Yield the settings that Penstock's SET accepts; the others become notes."""
        for name, value in sorted(command.properties.items()):
            try:
                check_changeable(name, None)
                check_setting(name, value, None)
            except SqlError as error:
                self._note(command, f"[{error.code}] {error.message}")
            else:
                yield name, value


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the statements that turn one set of settings into another."""
    unset = [f"UNSET {string(name)};" for name in sorted(old.keys() - new.keys())]
    changed = [name for name in sorted(new) if old.get(name) != new[name]]
    return [*unset, *(f"SET {string(name)} = {string(new[name])};" for name in changed)]


def read_ksqldb_backup(file: Path) -> Iterator[Entry]:
    """Return the records of a backup of ksqlDB: a line of ``"key":value`` for each of them.

    A line of another form is returned without a key; reading it as a command then fails.
    """
    for offset, line in enumerate(filter(None, file.read_bytes().split(b"\n"))):
        try:
            text = line.decode()
            key, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            yield Entry(offset, None, line)
            continue
        value = text[end + 1 :] if text[end : end + 1] == ":" else text
        yield Entry(offset, str(key).encode(), value.encode())


def read_ksqldb_topic(topics: Topics, service_id: str) -> Iterator[Entry]:
    """Return the records of ksqlDB's command topic, up to its present end.

    Raises:
        PenstockError: there is no such topic, or it cannot be read.
    """
    places = topics.places([ksqldb_commands_topic(service_id)])
    begins, ends = topics.begins(places), topics.ends(places)
    wanted = {place: end for place, end in ends.items() if end > begins[place]}
    if not wanted:
        return
    reader = topics.reader({place: begins[place] for place in wanted})
    try:
        while not has_reached(reader.positions, wanted):
            for record in reader.read(_POLL_S):
                yield Entry(record.offset, record.key, record.value)
    finally:
        reader.close()
