"""``penstock serve``: answer queries about an application that runs elsewhere."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from penstock.cli.connection import BootstrapOption
from penstock.cli.output import JsonOption, err, print_done, print_json, print_note
from penstock.cli.program import load_program
from penstock.cli.quiet import configure_logging
from penstock.cli.run import ProgramArgument, merged_settings
from penstock.config import APPLICATION_ID, APPLICATION_SERVER, BOOTSTRAP_SERVERS, STATE_DIR
from penstock.errors import ConfigError
from penstock.extras import require

_LOOK_S = 0.2


def serve(
    program: ProgramArgument,
    application_id: Annotated[
        str | None, typer.Option("--application-id", help="The application; wins over config.")
    ] = None,
    server: Annotated[
        str, typer.Option("--server", metavar="HOST:PORT", help="Where to answer over HTTP.")
    ] = "127.0.0.1:8090",
    bootstrap: BootstrapOption = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting; wins over config."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Keep copies of an application's stores, and answer queries about them over HTTP.

    It needs the program to know the stores and their serdes, but it runs none of it: no Spark is
    started. Copies stay on disk, so that the next start reads only what is new. Ctrl-C and
    SIGTERM end it.
    """
    configure_logging(is_verbose=verbose)
    # Its classes are those of the instances, which import pyspark; no Spark is started.
    require("penstock serve", "spark", "server")
    loaded = load_program(program)
    settings = merged_settings(
        loaded, master=None, bootstrap=bootstrap, threads=None, given=config or ()
    )
    settings |= {APPLICATION_SERVER.name: server}
    if application_id is not None:
        settings[APPLICATION_ID.name] = application_id
    if not settings.get(BOOTSTRAP_SERVERS.name):
        raise ConfigError(
            "no-broker",
            "there is no broker to follow changelogs on",
            fix="name the application's Kafka cluster with --bootstrap",
        )
    _follow(loaded.topology, _own_folder(settings), as_json=as_json)


def _own_folder(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with a state folder of their own.

    An instance of the application may run on the same machine. The copies must not share its
    folder.
    """
    folder = Path(str(settings.get(STATE_DIR.name) or STATE_DIR.default))
    return {**settings, STATE_DIR.name: str(folder / "served")}


def _follow(topology: Any, settings: dict[str, Any], *, as_json: bool) -> None:
    # This imports pyspark, which takes a while. So it is not imported for --help.
    from penstock.runtime.spark.driver.query_instance import QueryInstance  # noqa: PLC0415

    closing = threading.Event()
    former = {
        number: signal.signal(number, lambda *_: closing.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    name, address = settings[APPLICATION_ID.name], settings[APPLICATION_SERVER.name]
    try:
        with QueryInstance(topology, settings) as instance:
            _show_progress(instance, closing)
            if not closing.is_set():
                if as_json:
                    print_json({"application": name, "server": address, "state": "ready"})
                else:
                    print_note(f"answering for {name} on http://{address}")
            closing.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    if not as_json:
        print_done(f"stopped answering for {name}")


def _show_progress(instance: Any, closing: threading.Event) -> None:
    """Show the progress of the copies until they can answer queries."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err(), transient=True) as progress:
        bar = progress.add_task("waiting for a batch", total=None)
        while instance.waiting_for is not None and not closing.wait(_LOOK_S):
            stores = instance.restoring()
            if stores:
                done = sum(each.position - each.start for each in stores)
                total = sum(each.end - each.start for each in stores)
                progress.update(bar, description="reading changelogs", completed=done, total=total)
