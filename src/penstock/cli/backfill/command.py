"""``penstock backfill``: bring history into an application's stores, then start it."""

from __future__ import annotations

import importlib
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.connection import BootstrapOption
from penstock.cli.output import JsonOption, print_done, print_json, print_note
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.quiet import configure_logging, java_log
from penstock.cli.run import ProgramArgument, Shown, merged_settings, run_once
from penstock.config import BOOTSTRAP_SERVERS, StreamsConfig
from penstock.errors import ConfigError, InvalidArgumentError
from penstock.extras import require
from penstock.model.time.moment import moment_ms

if TYPE_CHECKING:
    from penstock.runtime.spark.backfill.backfill import BackfillReport, BackfillRequest

# Spark takes a while to import, and help needs none of it.
_BACKFILL = "penstock.runtime.spark.backfill.backfill"
_SOURCES = "penstock.runtime.spark.history.sources"
_SESSION = "penstock.runtime.spark.driver.session"


def backfill(
    program: ProgramArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="TOPIC=KIND:PLACE",
            help="The history of a topic: orders=parquet:/lake/orders?key=user&timestamp=at,"
            " users=topic:users, or none.",
        ),
    ] = None,
    until: Annotated[
        str,
        typer.Option(
            "--until",
            metavar="WHEN",
            help="Where live begins: offsets, those behind the history's; or a time.",
        ),
    ] = "offsets",
    outputs: Annotated[
        str,
        typer.Option(
            "--outputs",
            metavar="WHERE",
            help="Where outputs of history go: none, topics, or files such as parquet:/lake/out.",
        ),
    ] = "none",
    replace_state: Annotated[
        bool,
        typer.Option(
            "--replace-state", help="Delete the state that the application has, and begin anew."
        ),
    ] = False,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Start the application behind it.")
    ] = True,
    for_idle: Annotated[
        bool, typer.Option("--for-idle", help="Process what is there, then stop.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Spark's master: local[4], spark://…"),
    ] = None,
    bootstrap: BootstrapOption = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Stream threads: Spark task slots.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting; wins over config."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a program over history, put what it makes into its stores, and start it there.

    Each source topic needs --input: files or a table with its history, the topic itself, or none.
    Columns are named behind a question mark: key, value, timestamp, partition, offset, headers.
    With partition and offset, live begins behind the last offset of each partition. Without them
    --until says at which time. Records that would be missing or count twice are an error.

    The application must not run, and must not have state, unless --replace-state deletes it. A
    backfill that was interrupted is run again with the same options: nothing comes twice.
    """
    configure_logging(is_verbose=verbose)
    require("penstock backfill", "spark")
    loaded = load_program(program)
    settings = merged_settings(
        loaded, master=master, bootstrap=bootstrap, threads=threads, given=config or ()
    )
    if not StreamsConfig(settings)[BOOTSTRAP_SERVERS]:
        raise ConfigError(
            "no-broker",
            "a backfill needs the Kafka that has the topics",
            fix="name it: --bootstrap kafka:9092",
        )
    request = _request(inputs or (), until, outputs, replaces_state=replace_state)
    report = _run(loaded, settings, request, as_json=as_json)
    if as_json:
        print_json(_told(report))
    elif report.is_repeated:
        print_note("a former run has done this backfill already")
    if start:
        run_once(
            loaded, settings, (lambda snapshot: snapshot.is_idle) if for_idle else _never,
            Shown(8, as_json=as_json),
        )  # fmt: skip


def _run(
    loaded: LoadedProgram, settings: dict[str, Any], request: BackfillRequest, *, as_json: bool
) -> BackfillReport:
    module: Any = importlib.import_module(_BACKFILL)
    sessions: Any = importlib.import_module(_SESSION)
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(java_log())

        def spark() -> Any:
            session, is_own = sessions.spark_session(StreamsConfig(settings))
            if is_own:
                stack.callback(sessions.stop_session, session, 30.0)
            return session

        tell = (lambda text: None) if as_json else print_note
        report: BackfillReport = module.Backfill(
            loaded.topology, settings, request, spark, tell
        ).run()
    if not (as_json or report.is_repeated):
        records = sum(report.records.values())
        seconds = time.monotonic() - began
        print_done(f"{records:,} records of history are in the stores after {seconds:.0f} s")
    return report


def _request(
    inputs: list[str] | tuple[()], until: str, outputs: str, *, replaces_state: bool
) -> BackfillRequest:
    module: Any = importlib.import_module(_BACKFILL)
    request: BackfillRequest = module.BackfillRequest(
        dict(_input(text) for text in inputs),
        None if until == "offsets" else _moment(until),
        outputs,
        replaces_state,
    )
    return request


def _input(text: str) -> tuple[str, Any]:
    topic, equals, place = text.partition("=")
    if not (topic and equals and place):
        raise typer.BadParameter(f"{text!r} is not TOPIC=KIND:PLACE", param_hint="--input")
    if place == "none":
        return topic, None
    sources: Any = importlib.import_module(_SOURCES)
    return topic, sources.HistorySource.parse(place)


def _moment(text: str) -> int:
    try:
        return moment_ms(text, time.time_ns() // 1_000_000)
    except InvalidArgumentError as error:
        raise typer.BadParameter(f"{error.message}", param_hint="--until") from None


def _told(report: BackfillReport) -> dict[str, Any]:
    return {
        "records": dict(report.records),
        "changelogs": dict(report.changelogs),
        "outputs": dict(report.outputs),
        "offsets": [
            {"topic": topic, "partition": number, "offset": at}
            for (topic, number), at in sorted(report.offsets.items())
        ],
        "repeated": report.is_repeated,
    }


def _never(snapshot: object) -> bool:
    return False
