"""``penstock server``: run an SQL server with ksqlDB's REST interface."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from penstock.cli.connection import BootstrapOption, read_properties, with_project_broker
from penstock.cli.output import JsonOption, print_done, print_json, print_note
from penstock.cli.private_broker import new_broker
from penstock.cli.quiet import configure_logging
from penstock.cli.sql.commands import needing_sql, pairs
from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, SERVER_LISTEN, StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.extras import require
from penstock.runtime.signals import wait_until_set

app = typer.Typer(help="Run an SQL server with ksqlDB's REST interface.", no_args_is_help=False)
_SERVER = "penstock.server.composition"

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", exists=True, dir_okay=False,
        help="Settings as name=value lines, such as ksql-server.properties.",
    ),
]  # fmt: skip
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--setting", "-c", metavar="NAME=VALUE", help="A setting; wins over the file."),
]


@app.callback(invoke_without_command=True)
def server(
    context: typer.Context,
    config: FileOption = None,
    setting: SettingOption = None,
    queries_file: Annotated[
        Path | None,
        typer.Option(
            "--queries-file", metavar="FILE", exists=True, dir_okay=False,
            help="Run the statements of this file, and take no others.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Where to answer over HTTP."),
    ] = None,
    bootstrap: BootstrapOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Run an SQL server until Ctrl-C or SIGTERM.

    It answers on 127.0.0.1:8088 unless --listen or the settings name another address. Its
    statements and queries are kept in Kafka, so the next start continues with them. If neither
    --bootstrap nor the settings nor the project name a broker, a private one is started, and
    everything is gone at the end.
    """
    if context.invoked_subcommand is not None:
        return
    require("penstock server", "spark", "server")
    configure_logging(is_verbose=verbose)
    settings = merged_settings(config, setting, bootstrap)
    if listen is not None:
        settings[SERVER_LISTEN.name] = listen
    asked = stop_signals()
    with ExitStack() as stack:
        if not settings.get(BOOTSTRAP_SERVERS.name):
            here, line = stack.enter_context(new_broker())
            line.stop()
            settings |= here
        running = new_server(settings, queries_file)
        with running:
            _tell(running, as_json=as_json)
            wait_until_set(asked)
    if not as_json:
        print_done("stopped cleanly")


@app.command("restore-commands")
def restore(
    backup: Annotated[
        Path | None,
        typer.Option(
            "--backup", metavar="FILE", exists=True, dir_okay=False,
            help="The copy of the command topic; without it, the one of this server.",
        ),
    ] = None,
    config: FileOption = None,
    setting: SettingOption = None,
    bootstrap: BootstrapOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Write a damaged command topic again from its copy. Stop all servers of the service first.

    Every server keeps a copy in the folder ksql.metastore.backup.location. The topic is deleted
    and written again. Queries keep their ids and their state.
    """
    settings = merged_settings(config, setting, bootstrap)
    options = needing_sql("penstock.server.options")
    restoring = needing_sql("penstock.server.commands.restore")
    checked = _kafka_config(settings)
    file = backup or options.backup_file(settings, checked)
    if not file.is_file():
        raise InvalidArgumentError(
            "no-backup",
            f"there is no copy of the command topic in {str(file)!r}",
            fix="name one with --backup",
        )
    service_id = options.NodeOptions(settings=settings).service_id
    good, bad = restoring.readable(file)
    if not yes:
        typer.confirm(
            f"Delete the command topic of service {service_id!r} and write the {len(good)} commands"
            f" of {file} ({len(bad)} unreadable)?",
            abort=True,
        )
    done = restoring.restore_commands(checked, service_id, file)
    if as_json:
        print_json({"commands": done.commands, "skipped": list(done.skipped), "file": str(file)})
    else:
        print_done(f"{done.commands} commands restored from {file}")
        if done.skipped:
            print_note(f"left out, because they are not commands: offsets {list(done.skipped)}")


@app.command("export-ksqldb")
def export_ksqldb(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; else it is printed."),
    ] = None,
    backup: Annotated[
        Path | None,
        typer.Option(
            "--backup", metavar="FILE", exists=True, dir_okay=False,
            help="A backup file of ksqlDB; without it, its command topic is read.",
        ),
    ] = None,
    config: FileOption = None,
    setting: SettingOption = None,
    bootstrap: BootstrapOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Write the statements of a ksqlDB service as a script, to run it with Penstock.

    The service is the one of ksql.service.id. Its topic is only read. What cannot be
    taken over becomes a comment at the top of the script, with the reason; then the exit code is 1.
    """
    settings = merged_settings(config, setting, bootstrap)
    reading = needing_sql("penstock.server.commands.ksqldb")
    if backup is not None:
        entries = reading.read_ksqldb_backup(backup)
    else:
        service_id = (
            needing_sql("penstock.server.options").NodeOptions(settings=settings).service_id
        )
        topics = needing_sql("penstock.server.reading").KafkaTopics(_kafka_config(settings))
        entries = reading.read_ksqldb_topic(topics, service_id)
    script = reading.as_script(entries)
    if output is not None:
        output.write_text(script.text, encoding="utf-8")
    if as_json:
        print_json(
            {"statements": script.statements, "notes": list(script.notes), "script": script.text}
        )
    elif output is None:
        typer.echo(script.text, nl=False)
    else:
        print_done(f"{script.statements} statements written to {output}")
        for note in script.notes:
            print_note(f"not taken over: {note}")
    raise typer.Exit(1 if script.notes else 0)


def _kafka_config(settings: dict[str, Any]) -> StreamsConfig:
    kafka = {name: value for name, value in settings.items() if not name.startswith("ksql.")}
    return StreamsConfig({APPLICATION_ID.name: "penstock-sql-restore", **kafka})


def merged_settings(
    file: Path | None, given: list[str] | None, bootstrap: str | None
) -> dict[str, Any]:
    """Return the settings of a server.

    ``--bootstrap`` wins over ``--setting``, that over the file, and that over the project's broker.
    """
    settings: dict[str, Any] = {} if file is None else dict(read_properties(file))
    settings |= pairs("--setting", given)
    if bootstrap is not None:
        settings[BOOTSTRAP_SERVERS.name] = bootstrap
    return settings if BOOTSTRAP_SERVERS.name in settings else with_project_broker(settings)


def new_server(settings: dict[str, Any], queries_file: Path | None = None) -> Any:
    """Return a server with everything it can do; it is not started."""
    return needing_sql(_SERVER).new_server(settings, queries_file=queries_file)


def stop_signals() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ask)
    return asked


def _tell(running: Any, *, as_json: bool) -> None:
    node = running.node
    if as_json:
        service = node.options.service_id
        print_json({"url": running.url, "service": service, "state": "ready"}, indent=False)
    else:
        queries = len(node.engine.queries)
        print_done(f"SQL server on {running.url}, with {queries} persistent queries")
