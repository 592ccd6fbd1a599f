"""``penstock broker``: a Kafka broker for a project, which keeps running between programs."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.output import JsonOption, err, out, print_done, print_json, print_note
from penstock.errors import InvalidArgumentError
from penstock.kafka import broker_registry
from penstock.kafka.broker_registry import PROJECT_BROKER, BrokerStatus, find_project_broker

app = typer.Typer(
    help="Start, stop and look at a Kafka broker on this machine.", no_args_is_help=True
)

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help=f"The broker's folder; else ./{PROJECT_BROKER}."),
]


@app.command()
def start(
    data: DataOption = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65_535, help="Port; else any free one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start a broker on loopback, with its data kept in the project's folder."""
    folder = data or Path.cwd() / PROJECT_BROKER
    present = broker_registry.status(folder)
    if present.is_running:
        _check_port(present, port)
        _print(present, as_json, f"a broker already runs on {present.bootstrap_servers}")
        return
    if data is None:
        keep_out_of_git(folder.parent)
    begun = time.monotonic()
    with err().status("starting Kafka") as line:
        started = broker_registry.start(
            folder, port=port, progress=lambda text: line.update(f"getting Kafka, once: {text}")
        )
    took = time.monotonic() - begun
    _print(started, as_json, f"broker runs on {started.bootstrap_servers}, after {took:.1f} s")
    if not as_json:
        named = "" if data is None else f" --data {data}"
        print_note(f"  data in {started.folder}, stop it with: penstock broker stop{named}")


@app.command()
def stop(
    data: DataOption = None,
    delete_data: Annotated[
        bool, typer.Option("--delete-data", help="Delete its topics and records as well.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Stop the broker; its data stays for the next start."""
    folder = _folder(data)
    was_running = broker_registry.stop(folder)
    if delete_data:
        broker_registry.remove(folder)
    if as_json:
        print_json({"folder": folder, "was_running": was_running, "deleted": delete_data})
    elif was_running or delete_data:
        print_done("broker stopped" + (", its data is deleted" if delete_data else ""))
    else:
        print_note(f"no broker runs in {folder}")


@app.command()
def status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Say whether the broker runs, and where; exit 1 when it does not."""
    found = broker_registry.status(_folder(data))
    if as_json:
        print_json(_as_dict(found))
    elif found.is_answering:
        out().print(f"[green]running[/green] on {found.bootstrap_servers} (pid {found.pid})")
    elif found.is_running:
        out().print(f"[yellow]no answer[/yellow] from {found.bootstrap_servers} (pid {found.pid})")
    else:
        out().print("[red]stopped[/red]")
    if not as_json:
        print_note(f"  data in {found.folder}, cluster {found.cluster_id or 'not made yet'}")
    if not found.is_answering:
        raise typer.Exit(1)


def _folder(data: Path | None) -> Path:
    if data is not None:
        return data.absolute()
    found = find_project_broker()
    return found.root if found is not None else Path.cwd() / PROJECT_BROKER


def _check_port(present: BrokerStatus, port: int | None) -> None:
    if port not in (None, present.port):
        raise InvalidArgumentError(
            "broker-on-other-port",
            f"the broker in {str(present.folder)!r} runs on port {present.port}, not on {port}",
            fix="stop it first: penstock broker stop",
        )


def keep_out_of_git(folder: Path) -> None:
    """Make a folder of Penstock, and tell git to ignore it."""
    ignore = folder / ".gitignore"
    if not ignore.exists():
        folder.mkdir(parents=True, exist_ok=True)
        ignore.write_text("*\n", encoding="utf-8")


def _print(found: BrokerStatus, as_json: bool, text: str) -> None:
    if as_json:
        print_json(_as_dict(found))
    else:
        print_done(text)


def _as_dict(found: BrokerStatus) -> dict[str, Any]:
    return asdict(found) | {"bootstrap_servers": found.bootstrap_servers}
