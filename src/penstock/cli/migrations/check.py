"""Compare the files of a project with what its server remembers of them."""

from __future__ import annotations

from penstock.cli.migrations.metadata import PENDING, MigrationMetadata, MigrationState
from penstock.cli.migrations.project import MigrationError, MigrationProject


def check_files(project: MigrationProject, metadata: MigrationMetadata) -> int:
    """Return how many applied migrations have the file that they were applied with.

    Raises:
        MigrationError: ``file-is-missing``, ``file-has-changed`` or ``metadata-broken``.
    """
    files = {file.version: file for file in project.files()}
    state = metadata.latest_migrated()
    checked = 0
    while state is not None:
        file = files.get(state.version)
        if file is None:
            raise MigrationError(
                "file-is-missing",
                f"version {state.version} ({state.name}) is applied, and its file is gone",
                fix="restore the file",
            )
        if file.checksum() != state.checksum:
            raise MigrationError(
                "file-has-changed",
                f"{file.path.name} was applied with another text: checksum {state.checksum},"
                f" now {file.checksum()}",
                fix="restore the file, and put the change into a new migration",
            )
        checked += 1
        state = _before(state, metadata)
    return checked


def _before(state: MigrationState, metadata: MigrationMetadata) -> MigrationState | None:
    if not state.previous.isdigit():
        return None
    found = metadata.state_of(state.previous)
    if found is None or not found.is_migrated:
        raise MigrationError(
            "metadata-broken",
            f"version {state.version} came after {state.previous}, which is"
            f" {found.state if found else 'unknown'}",
        )
    return found


def all_states(project: MigrationProject, metadata: MigrationMetadata) -> list[MigrationState]:
    """Return the state of every file's version; what was never applied is PENDING."""
    files = project.files()
    known = metadata.states_of(file.version for file in files)
    return [
        known.get(file.version) or MigrationState(file.version, file.name, PENDING)
        for file in files
    ]
