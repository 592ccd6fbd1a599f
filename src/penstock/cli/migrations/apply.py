"""Apply migrations: which of them, in which order, and what is written about each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.cli.migrations.check import check_files
from penstock.cli.migrations.metadata import (
    ERROR,
    MIGRATED,
    NONE,
    RUNNING,
    MigrationMetadata,
)
from penstock.cli.migrations.project import MigrationError, MigrationFile, MigrationProject
from penstock.cli.sql.prompt.statement_kind import Kind, Statement, assignment, statements
from penstock.client.sync_client import Client
from penstock.errors import PenstockError

#: Statements that change nothing; a migration must not contain them.
_REFUSED = {Kind.QUERY: "SELECT", Kind.PRINT: "PRINT", Kind.RUN_SCRIPT: "RUN SCRIPT"}
_REFUSED_WORDS = ("SHOW", "LIST", "DESCRIBE", "EXPLAIN")


@dataclass(frozen=True, slots=True)
class Target:
    """Which migrations are wanted: all, the next one, those up to a version, or one of them."""

    next_only: bool = False
    until: int | None = None
    version: int | None = None


def chosen(project: MigrationProject, target: Target, migrated: int) -> list[MigrationFile]:
    """Return the files to apply, given the last version that was applied.

    Raises:
        MigrationError: ``unknown-version``, ``old-version`` or ``nothing-to-apply``.
    """
    files = project.files()
    if target.version is not None:
        found = [file for file in files if file.version == target.version]
        if not found:
            raise MigrationError("unknown-version", f"no file has version {target.version}")
        if target.version <= migrated:
            raise MigrationError(
                "old-version",
                f"version {target.version} is not newer than {migrated}, which is applied",
                fix="put the change into a new migration",
            )
        return found
    newer = [file for file in files if file.version > migrated]
    if target.until is not None:
        newer = [file for file in newer if file.version <= target.until]
    if target.next_only:
        if not newer:
            raise MigrationError("nothing-to-apply", f"no file is newer than version {migrated}")
        return newer[:1]
    return newer


@dataclass(slots=True)
class MigrationRun:
    """Apply the files of a project to its server, each statement in its order."""

    project: MigrationProject
    client: Client
    metadata: MigrationMetadata
    variables: Mapping[str, str]
    say: Callable[[str], None]

    def apply(self, target: Target, *, is_dry: bool = False) -> list[MigrationFile]:
        """Apply the migrations that are wanted, and return them.

        A version whose last try failed is tried again. Every file is read and checked before the
        first statement runs.

        Raises:
            MigrationError: an applied file was changed, a file has a statement that is not
                allowed, or a statement failed; the metadata then have the reason.
        """
        self.metadata.need_initialized()
        check_files(self.project, self.metadata)
        last = self.metadata.latest_migrated()
        files = chosen(self.project, target, last.version if last else 0)
        scripts = [(file, self._parsed(file)) for file in files]
        previous = str(last.version) if last else NONE
        for file, script in scripts:
            self.say(f"version {file.version}: {file.name}")
            if is_dry:
                for statement in script:
                    self.say(f"  would run: {' '.join(statement.text.split())}")
                continue
            self._apply_file(file, script, previous)
            previous = str(file.version)
        return files

    def _parsed(self, file: MigrationFile) -> list[Statement]:
        try:
            found = statements(file.text())
        except PenstockError as error:
            raise MigrationError(
                error.code, f"{file.path.name}: {error}", at=str(file.path)
            ) from None
        for statement in found:
            first = statement.text.split(None, 1)[0].upper().rstrip(";")
            refused = _REFUSED.get(statement.kind) or (first if first in _REFUSED_WORDS else None)
            if refused:
                raise MigrationError(
                    "not-a-change",
                    f"{file.path.name}:{statement.line}: {refused} changes nothing",
                    fix="take it out of the migration",
                )
        return found

    def _apply_file(self, file: MigrationFile, script: list[Statement], previous: str) -> None:
        started = self.metadata.now_ms()
        self.metadata.write(file, RUNNING, previous=previous, started_ms=started)
        try:
            self._run(script)
        except PenstockError as error:
            reason = f"{error.code}: {error.message}"
            self.metadata.write(
                file, ERROR, previous=previous, started_ms=started, error_reason=reason
            )
            raise MigrationError(
                "migration-failed",
                f"version {file.version} ({file.path.name}): {error}",
                fix="correct the file, undo what it did before the failure, and apply it again",
            ) from error
        self.metadata.write(file, MIGRATED, previous=previous, started_ms=started)

    def _run(self, script: list[Statement]) -> None:
        """Run the statements of one file; variables and properties end with it."""
        properties: dict[str, Any] = {}
        variables = dict(self.variables)
        for statement in script:
            match statement.kind:
                case Kind.SET:
                    found = assignment(statement.text, variables)
                    properties[found.name] = found.value
                case Kind.UNSET:
                    properties.pop(assignment(statement.text, variables).name, None)
                case Kind.DEFINE:
                    found = assignment(statement.text, variables)
                    variables[found.name] = found.value
                case Kind.UNDEFINE:
                    variables.pop(assignment(statement.text, variables).name, None)
                case _:
                    self._send(statement, properties, variables)

    def _send(
        self, statement: Statement, properties: Mapping[str, Any], variables: Mapping[str, str]
    ) -> None:
        for name in self.client.variables:
            self.client.undefine(name)
        for name, value in variables.items():
            self.client.define(name, value)
        result = self.client.execute_statement(statement.text, properties)
        if result.status == "ERROR":
            raise MigrationError("statement-failed", result.message)
