"""What the commands of ``penstock sql migrations`` do on a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from penstock.cli.migrations.apply import MigrationRun, Target
from penstock.cli.migrations.check import all_states, check_files
from penstock.cli.migrations.metadata import MigrationMetadata
from penstock.cli.migrations.project import MigrationProject
from penstock.cli.output import print_done, print_json, print_note, print_table
from penstock.client.sync_client import Client


@contextmanager
def connected(
    config_file: Path, headers: Mapping[str, str] | None = None
) -> Iterator[tuple[MigrationProject, Client, MigrationMetadata]]:
    """Yield a project, a client of its server and the metadata there."""
    project = MigrationProject.load(config_file)
    with Client(**project.client_arguments(), headers=headers) as client:
        yield project, client, MigrationMetadata(client, project)


def initialize(config_file: Path) -> None:
    with connected(config_file) as (_, _, metadata):
        print_done(f"created {' and '.join(metadata.initialize())}")


def destroy(config_file: Path) -> None:
    with connected(config_file) as (_, _, metadata):
        dropped = metadata.destroy()
    print_done(f"dropped {' and '.join(dropped)}" if dropped else "there was nothing to drop")


def apply(
    config_file: Path,
    target: Target,
    variables: Mapping[str, str],
    headers: Mapping[str, str],
    *,
    is_dry: bool,
) -> None:
    with connected(config_file, headers) as (project, client, metadata):
        for name in project.ignored():
            print_note(f"{name} is not named like V000001__Name.sql: not a migration")
        run = MigrationRun(project, client, metadata, variables, print_note)
        files = run.apply(target, is_dry=is_dry)
    count = f"{len(files)} {'migration' if len(files) == 1 else 'migrations'}"
    if not files:
        print_done("nothing to apply")
    else:
        print_done(f"would apply {count}" if is_dry else f"applied {count}")


def info(config_file: Path, *, as_json: bool) -> None:
    with connected(config_file) as (project, _, metadata):
        metadata.need_initialized()
        current, states = metadata.current_version(), all_states(project, metadata)
    if as_json:
        rows = [
            {
                "version": state.version,
                "name": state.name,
                "state": state.state,
                "previous": state.previous,
                "checksum": state.checksum,
                "started_on": _time(state.started_on),
                "completed_on": _time(state.completed_on),
                "error_reason": state.error_reason,
            }
            for state in states
        ]
        print_json({"current": current, "migrations": rows})
        return
    print_note(f"current version: {current}")
    print_table(
        ("Version", "Name", "State", "Previous", "Started", "Completed", "Error"),
        [
            (
                state.version, state.name, state.state, state.previous,
                _time(state.started_on), _time(state.completed_on), state.error_reason,
            )
            for state in states
        ],
    )  # fmt: skip


def validate(config_file: Path) -> None:
    with connected(config_file) as (project, _, metadata):
        metadata.need_initialized()
        count = check_files(project, metadata)
    print_done(f"{count} applied {'file is' if count == 1 else 'files are'} unchanged")


def _time(text: str) -> str:
    """Return milliseconds as a time; anything else as it is."""
    if not text.isdigit():
        return text
    moment = datetime.fromtimestamp(int(text) / 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
