"""What a server remembers of migrations: a stream of events, and a table with the last of each.

Both are made with the statements of ksqlDB's tool, so that a project can switch tools. A row
has the version for a key, and the row ``CURRENT`` says which version was worked on last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.cli.migrations.project import MigrationError, MigrationFile, MigrationProject
from penstock.client.statement_text import identifier, literal
from penstock.client.sync_client import Client

NONE = "<none>"
CURRENT = "CURRENT"
PENDING, RUNNING, MIGRATED, ERROR = "PENDING", "RUNNING", "MIGRATED", "ERROR"
_NO_VALUE = "N/A"
_FIELDS = (
    "version", "checksum", "previous", "state", "name", "started_on", "completed_on",
    "error_reason",
)  # fmt: skip
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class MigrationState:
    """What the server knows of one version."""

    version: int
    name: str
    state: str
    checksum: str = _NO_VALUE
    previous: str = NONE
    started_on: str = _NO_VALUE
    completed_on: str = _NO_VALUE
    error_reason: str = _NO_VALUE

    @property
    def is_migrated(self) -> bool:
        return self.state == MIGRATED


class MigrationMetadata:
    """Read and write the metadata of a project on its server.

    The table follows its stream after a moment. So each write waits until it can be read.
    """

    def __init__(
        self,
        client: Client,
        project: MigrationProject,
        *,
        wait_s: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._project = project
        self._wait_s = wait_s
        self._clock = clock
        self.stream = project["ksql.migrations.stream.name"] or ""
        self.table = project["ksql.migrations.table.name"] or ""

    # Setting up and taking down

    def initialize(self) -> list[str]:
        """Create stream and table, and return their names.

        Raises:
            RequestRefusedError: they exist already, or the server refuses them.
        """
        service = self._client.server_info().service_id
        stream_topic = self._topic("ksql.migrations.stream.topic.name", service, self.stream)
        table_topic = self._topic("ksql.migrations.table.topic.name", service, self.table)
        replicas = self._project["ksql.migrations.topic.replicas"]
        columns = ", ".join(f"{name} STRING" for name in _FIELDS)
        self._client.execute_statement(
            f"CREATE STREAM {identifier(self.stream)} (version_key STRING KEY, {columns})"
            f" WITH (KAFKA_TOPIC={literal(stream_topic)}, VALUE_FORMAT='JSON', PARTITIONS=1,"
            f" REPLICAS={replicas});"
        )
        latest = ", ".join(f"LATEST_BY_OFFSET({name}) AS {name}" for name in _FIELDS)
        self._client.execute_statement(
            f"CREATE TABLE {identifier(self.table)} WITH (KAFKA_TOPIC={literal(table_topic)})"
            f" AS SELECT version_key, {latest} FROM {identifier(self.stream)}"
            " GROUP BY version_key;",
            {"auto.offset.reset": "earliest"},
        )
        return [self.stream, self.table]

    def _topic(self, setting: str, service: str, name: str) -> str:
        return self._project[setting] or f"{service}ksql_{name}"

    def is_initialized(self) -> bool:
        streams = {each.name.upper() for each in self._client.list_streams()}
        tables = {each.name.upper() for each in self._client.list_tables()}
        return self.stream.upper() in streams and self.table.upper() in tables

    def need_initialized(self) -> None:
        """Raise unless stream and table exist.

        Raises:
            MigrationError: ``metadata-missing``.
        """
        if not self.is_initialized():
            raise MigrationError(
                "metadata-missing",
                f"the server has no stream {self.stream} and table {self.table}",
                fix="create them with: penstock sql migrations initialize-metadata",
            )

    def destroy(self) -> list[str]:
        """Drop table and stream with their topics, and return what was dropped."""
        dropped = []
        tables = {each.name.upper() for each in self._client.list_tables()}
        if self.table.upper() in tables:
            for query in self._client.describe_source(self.table).writers:
                self._client.execute_statement(f"TERMINATE {query.id};")
            self._client.execute_statement(f"DROP TABLE {identifier(self.table)} DELETE TOPIC;")
            dropped.append(self.table)
        if self.stream.upper() in {each.name.upper() for each in self._client.list_streams()}:
            self._client.execute_statement(f"DROP STREAM {identifier(self.stream)} DELETE TOPIC;")
            dropped.append(self.stream)
        return dropped

    # Reading

    def current_version(self) -> str:
        """Return the version that was worked on last, or ``<none>``."""
        found = self._rows([CURRENT])
        return str(found[0].version) if found else NONE

    def state_of(self, version: int | str) -> MigrationState | None:
        found = self._rows([str(version)])
        return found[0] if found else None

    def states_of(self, versions: Iterable[int]) -> dict[int, MigrationState]:
        """Return what is known of some versions."""
        keys = [str(version) for version in versions]
        return {state.version: state for state in self._rows(keys)} if keys else {}

    def latest_migrated(self) -> MigrationState | None:
        """Return the last version that was applied wholly.

        Raises:
            MigrationError: ``metadata-broken``: a version is named that the server does not know.
        """
        version = self.current_version()
        while version != NONE:
            state = self.state_of(version)
            if state is None:
                raise MigrationError(
                    "metadata-broken", f"the server has no row for version {version}"
                )
            if state.is_migrated:
                return state
            version = state.previous
        return None

    def _rows(self, keys: list[str]) -> list[MigrationState]:
        wanted = ", ".join(literal(key) for key in keys)
        condition = f"= {wanted}" if len(keys) == 1 else f"IN ({wanted})"
        result = self._client.execute_query(
            f"SELECT {', '.join(_FIELDS)} FROM {identifier(self.table)}"
            f" WHERE version_key {condition};"
        )
        return [_state({name: row[name] for name in _FIELDS}) for row in result]

    # Writing

    def write(
        self,
        file: MigrationFile,
        state: str,
        *,
        previous: str,
        started_ms: int,
        error_reason: str = _NO_VALUE,
    ) -> None:
        """Write the state of a version, and wait until the table has it.

        Raises:
            MigrationError: ``metadata-slow``: the table did not follow in time.
        """
        done = "" if state == RUNNING else str(self.now_ms())
        row = {
            "VERSION": str(file.version),
            "NAME": file.name,
            "STATE": state,
            "CHECKSUM": file.checksum(),
            "STARTED_ON": str(started_ms),
            "COMPLETED_ON": done,
            "PREVIOUS": previous,
            "ERROR_REASON": error_reason,
        }
        for key in (CURRENT, str(file.version)):
            self._client.insert_into(self.stream, {"VERSION_KEY": key, **row})
        self._await(file.version, state)

    def now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _await(self, version: int, state: str) -> None:
        deadline = time.monotonic() + self._wait_s
        while True:
            known = self.state_of(version)
            is_known = known is not None and known.state == state
            if is_known and self.current_version() == str(version):
                return
            if time.monotonic() > deadline:
                raise MigrationError(
                    "metadata-slow",
                    f"table {self.table} did not show version {version} as {state} within"
                    f" {self._wait_s:g} s",
                    fix="check with SHOW QUERIES; whether its query runs",
                )
            time.sleep(_POLL_S)


def _state(row: dict[str, Any]) -> MigrationState:
    return MigrationState(
        int(row["version"]),
        row["name"] or "",
        row["state"] or PENDING,
        row["checksum"] or _NO_VALUE,
        row["previous"] or NONE,
        row["started_on"] or _NO_VALUE,
        row["completed_on"] or _NO_VALUE,
        row["error_reason"] or _NO_VALUE,
    )
