"""``penstock connect``: connectors from Maven Central, and a Connect worker for a project."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.broker import keep_out_of_git
from penstock.cli.connection import BootstrapOption, CommandConfigOption
from penstock.cli.output import (
    JsonOption,
    err,
    out,
    print_done,
    print_json,
    print_note,
    print_table,
)
from penstock.connect import worker_registry
from penstock.connect.plugins import (
    PROJECT_PLUGINS,
    Coordinates,
    install,
    installed_plugins,
    project_plugins,
)
from penstock.connect.worker_config import read_worker_config
from penstock.connect.worker_registry import PROJECT_WORKER, WorkerStatus, find_project_worker
from penstock.kafka.nearby_broker import nearby_broker

app = typer.Typer(
    help="Install connectors, and run a Kafka Connect worker on this machine.",
    no_args_is_help=True,
)

PluginsOption = Annotated[
    Path | None,
    typer.Option(
        "--plugins", metavar="DIR", help=f"The folder of connectors; else ./{PROJECT_PLUGINS}."
    ),
]


@app.command("install")
def install_plugin(
    modules: Annotated[
        list[str],
        typer.Argument(metavar="GROUP:ARTIFACT:VERSION", help="Modules that make one connector."),
    ],
    plugins: PluginsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download a connector with all it depends on from Maven Central.

    Several modules become one connector, such as a sink and the JDBC driver it needs. A worker
    sees it when it starts the next time. A mirror in ~/.m2/settings.xml is used.
    """
    named = [Coordinates.of(each) for each in modules]
    folder = (plugins or project_plugins()).absolute()
    if plugins is None:
        keep_out_of_git(folder.parents[1])
    with err().status(f"downloading {named[0].folder}") as line:
        made = install(named, folder, lambda text: line.update(f"{named[0].folder}: {text}"))
    if as_json:
        print_json(asdict(made))
    else:
        print_done(f"{made.folder.name} installed, {made.jars} jars")
        print_note(f"  in {made.folder}")


@app.command("plugins")
def list_plugins(plugins: PluginsOption = None, as_json: JsonOption = False) -> None:
    """List the connectors that were installed; SHOW CONNECTOR PLUGINS asks a worker."""
    folder = (plugins or project_plugins()).absolute()
    found = installed_plugins(folder)
    if as_json:
        print_json([asdict(each) for each in found])
    elif found:
        print_table(["Connector", "Jars"], [(each.folder.name, each.jars) for each in found])
    else:
        print_note(f"no connectors in {folder}")


@app.command()
def start(
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    service_id: Annotated[
        str, typer.Option("--service-id", help="Workers with the same one share connectors.")
    ] = "default_",
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65_535, help="Port; else any free one.")
    ] = None,
    plugins: PluginsOption = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", exists=True, help="Settings of the worker."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start a worker on loopback that keeps running; penstock sql uses it in this project."""
    folder = Path.cwd() / PROJECT_WORKER
    present = worker_registry.status(folder)
    if present.is_running:
        _print(present, as_json, f"a worker already runs at {present.url}")
        return
    keep_out_of_git(folder.parent)
    given = {} if command_config is None else read_worker_config(str(command_config))
    cluster = given | {
        "bootstrap.servers": bootstrap or given.get("bootstrap.servers") or nearby_broker()
    }
    begun = time.monotonic()
    with err().status("starting Kafka Connect") as line:
        started = worker_registry.start(
            folder,
            cluster,
            service_id,
            port=port,
            plugins=((plugins or project_plugins()).absolute(),),
            properties=None if config is None else read_worker_config(str(config)),
            progress=lambda text: line.update(f"getting Kafka Connect, once: {text}"),
        )
    took = time.monotonic() - begun
    _print(started, as_json, f"worker runs at {started.url}, after {took:.1f} s")
    if not as_json:
        print_note(f"  log in {started.folder}, stop it with: penstock connect stop")


@app.command()
def stop(as_json: JsonOption = False) -> None:
    """Stop the worker; its connectors stay in Kafka for the next start."""
    folder = _folder()
    was_running = worker_registry.stop(folder)
    if as_json:
        print_json({"folder": folder, "was_running": was_running})
    elif was_running:
        print_done("worker stopped")
    else:
        print_note(f"no worker runs in {folder}")


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether the worker runs, and where; exit 1 when it does not."""
    found = worker_registry.status(_folder())
    if as_json:
        print_json(asdict(found))
    elif found.is_ready:
        out().print(f"[green]running[/green] at {found.url} (pid {found.pid})")
    elif found.is_running:
        out().print(f"[yellow]not ready[/yellow] at {found.url} (pid {found.pid})")
    else:
        out().print("[red]stopped[/red]")
    if not found.is_ready:
        raise typer.Exit(1)


def _folder() -> Path:
    found = find_project_worker()
    return found.root if found is not None else Path.cwd() / PROJECT_WORKER


def _print(found: WorkerStatus, as_json: bool, text: str) -> None:
    if as_json:
        print_json(asdict(found))
    else:
        print_done(text)
