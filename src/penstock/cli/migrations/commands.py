"""``penstock sql migrations``: the commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.connection import read_properties
from penstock.cli.output import JsonOption, print_done, print_note
from penstock.cli.sql.needed import needing_sql
from penstock.cli.sql.pairs import defined

app = typer.Typer(
    no_args_is_help=True, help="Apply numbered files of SQL to a server, each of them once."
)

ConfigFileOption = Annotated[
    Path,
    typer.Option("--config-file", "-c", metavar="FILE", help="The settings of the project."),
]
_CONFIG_FILE = Path("ksql-migrations.properties")
_ACTIONS = "penstock.cli.migrations.actions"


@app.command("new-project")
def new_project(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The server.")],
) -> None:
    """Make a folder with the settings of a project and a folder for its files."""
    made = needing_sql("penstock.cli.migrations.project").new_project(folder, url)
    print_done(f"created {made}")
    print_note(f"next: cd {folder} && penstock sql migrations initialize-metadata")


@app.command("initialize-metadata")
def initialize_metadata(config_file: ConfigFileOption = _CONFIG_FILE) -> None:
    """Create the stream and the table in which the server remembers what was applied."""
    needing_sql(_ACTIONS).initialize(config_file)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it does, such as: Add users.")],
    version: Annotated[
        int | None, typer.Option("--version", "-v", min=1, help="This version, not the next one.")
    ] = None,
    config_file: ConfigFileOption = _CONFIG_FILE,
) -> None:
    """Make an empty file with the next version: V000001__Name.sql."""
    project = needing_sql("penstock.cli.migrations.project").MigrationProject.load(config_file)
    print_done(f"created {project.create_file(name, version)}")


@app.command()
def apply(
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="All that are not applied yet.")
    ] = False,
    next_only: Annotated[bool, typer.Option("--next", "-n", help="Only the next one.")] = False,
    until: Annotated[
        int | None, typer.Option("--until", "-u", min=1, help="All up to this version.")
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", "-v", min=1, help="Only this version.")
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option("--define", "-d", metavar="NAME=VALUE", help="A variable, used as ${NAME}."),
    ] = None,
    headers: Annotated[
        Path | None,
        typer.Option(
            "--headers", metavar="FILE", exists=True, help="Headers of requests, as name=value."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run; send no statement.")
    ] = False,
    config_file: ConfigFileOption = _CONFIG_FILE,
) -> None:
    """Apply migrations to the server. Exit 1: one failed, or an applied file has changed."""
    if sum((everything, next_only, until is not None, version is not None)) != 1:
        raise typer.BadParameter(
            "use one of --all, --next, --until and --version", param_hint="--all"
        )
    target = needing_sql("penstock.cli.migrations.apply").Target(next_only, until, version)
    needing_sql(_ACTIONS).apply(
        config_file,
        target,
        defined(define),
        {} if headers is None else read_properties(headers),
        is_dry=dry_run,
    )


@app.command()
def info(config_file: ConfigFileOption = _CONFIG_FILE, as_json: JsonOption = False) -> None:
    """Show every migration and whether it is applied."""
    needing_sql(_ACTIONS).info(config_file, as_json=as_json)


@app.command()
def validate(config_file: ConfigFileOption = _CONFIG_FILE) -> None:
    """Check that no file has changed since it was applied."""
    needing_sql(_ACTIONS).validate(config_file)


@app.command("destroy-metadata")
def destroy_metadata(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config_file: ConfigFileOption = _CONFIG_FILE,
) -> None:
    """Drop stream and table with their topics: the server forgets what was applied."""
    if not yes:
        typer.confirm("The server forgets which migrations it has. Continue?", abort=True, err=True)
    needing_sql(_ACTIONS).destroy(config_file)
