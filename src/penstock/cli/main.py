"""Register the subcommands; a new one needs a module and one line here."""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

import penstock
from penstock.cli.backfill.command import backfill
from penstock.cli.broker import app as broker
from penstock.cli.command_group import CommandGroup
from penstock.cli.connect.command import app as connect
from penstock.cli.consume import consume
from penstock.cli.datagen.command import datagen
from penstock.cli.demo.command import demo
from penstock.cli.describe import describe
from penstock.cli.doctor import doctor
from penstock.cli.init.command import init
from penstock.cli.plan.command import plan
from penstock.cli.produce import produce
from penstock.cli.registry import registry
from penstock.cli.replay.capture import capture
from penstock.cli.replay.diff import diff
from penstock.cli.reset.command import reset
from penstock.cli.run import run
from penstock.cli.serve import serve
from penstock.cli.server.command import app as server
from penstock.cli.sql.commands import app as sql
from penstock.cli.topics import app as topics
from penstock.kafka.distribution import KAFKA_VERSION

app = typer.Typer(
    name="penstock",
    cls=CommandGroup,
    no_args_is_help=True,
    # A failed request prints what the user can do. A bug prints Python's own traceback, which a
    # bug report needs.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(demo)
app.command()(init)
app.command()(run)
app.command()(serve)
app.add_typer(sql, name="sql")
app.add_typer(server, name="server")
app.command()(plan)
app.command()(reset)
app.command()(backfill)
app.add_typer(broker, name="broker")
app.add_typer(connect, name="connect")
app.command()(registry)
app.add_typer(topics, name="topics")
app.command()(produce)
app.command()(consume)
app.command()(datagen)
app.command()(describe)
app.command()(capture)
app.command()(diff)
app.command()(doctor)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"penstock {penstock.__version__} (Spark {_spark()}, Kafka {KAFKA_VERSION})")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            metavar="",
            help="Print the versions and exit.",
        ),
    ] = False,
) -> None:
    """Kafka Streams and ksqlDB for Python, run by Spark."""


def main() -> None:
    """Run the command line; the library's logs are silent unless the program sets up logging."""
    logging.getLogger("penstock").addHandler(logging.NullHandler())
    app()


def _spark() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return "not installed"
