"""``penstock run``: run a program on Spark and show what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import penstock
from penstock.cli.connection import BootstrapOption, with_project_broker
from penstock.cli.console_link import ConsoleLink, has_browser
from penstock.cli.demo.program_demo import ProgramDemo, with_samples
from penstock.cli.live.reload import Reloading, kept_spark
from penstock.cli.live.sample_feed import SampleFeed, feed_for, samples_of
from penstock.cli.live_view import view_of
from penstock.cli.output import JsonOption, print_done, print_note
from penstock.cli.private_broker import private_broker
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.quiet import configure_logging, java_log
from penstock.cli.reset.plan import check_stopped
from penstock.cli.snapshot import Snapshot, Watch
from penstock.cli.sql.commands import run as run_sql
from penstock.cli.supervise import run_watched
from penstock.cli.top_rows import TopRows, store_to_show
from penstock.config import (
    ACCEPTED_PLAN,
    APPLICATION_ID,
    BOOTSTRAP_SERVERS,
    NUM_STREAM_THREADS,
    StreamsConfig,
)
from penstock.extras import require
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings
from penstock.runtime.settings import plan_fingerprint
from penstock.runtime.spark.driver.removal import remove_application
from penstock.runtime.spark.exchange.worker_lines import OUTPUT

ProgramArgument = Annotated[
    str,
    typer.Argument(metavar="APP.PY[:NAME]", help="A program with topology, builder or build()."),
]


def run(
    program: ProgramArgument,
    master: Annotated[
        str | None,
        typer.Option(
            "--master", metavar="URL", help="Spark's master: local[4], spark://…, k8s://…"
        ),
    ] = None,
    bootstrap: BootstrapOption = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Stream threads: Spark task slots.")
    ] = None,
    for_idle: Annotated[
        bool, typer.Option("--for-idle", help="Process what is there, then stop.")
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Feed the sample data beside the program to it, show the output, then stop.",
        ),
    ] = False,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting; wins over config."),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=0, help="Rows of the first store to show; 0 for none.")
    ] = 8,
    reload: Annotated[
        bool, typer.Option("--reload", help="Run it again when one of its files changes.")
    ] = False,
    from_start: Annotated[
        bool,
        typer.Option(
            "--from-start",
            help="With --reload on a broker of yours: reset the application at every change.",
        ),
    ] = False,
    accept_plan: Annotated[
        bool,
        typer.Option(
            "--accept-plan",
            help="Go on with the state of the former program, if this one can read it.",
        ),
    ] = False,
    console: Annotated[
        bool,
        typer.Option("--console", help="Serve the console, print its address and open it."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a program, and show state, records/s, lag, batch time, restores and drops.

    The program is a file with a variable topology or builder or a function build(), and
    maybe a dictionary config. Ctrl-C and SIGTERM end it after the batches that are under way.
    Without a broker in --bootstrap, in config or in the project a private one is started, its
    topics are made, and the program's prepare(bootstrap_servers), if it has one, fills them. The
    records that its generator samples() yields are written there as long as it runs.
    With --demo that broker is always a private one. Its topics are filled from data.jsonl or
    data.txt beside the program, and show(streams), if the program has it, may ask the stores.
    A script of SQL is run as penstock sql run does it, with --demo on the records of data.json.

    With --reload the program runs again when a file beside it changes. On a private broker it then
    reads its input from the beginning, and shows what it writes differently from the last run. On
    any other broker it goes on with its state if the change allows that; --from-start resets it
    there too: its state, its internal topics and its offsets are deleted at each change.

    With --accept-plan the program may differ from the one that made its state in steps that keep
    nothing themselves, and in its topics: what is in the stores stays. Other serdes or windows are
    refused all the same. penstock plan shows the difference before.

    With --console its pages are served as long as it runs: on application.server, else on a free
    port of this machine. Without credentials in config the link has a token that may do everything.
    """
    if program.endswith(".sql"):
        _check_script(console=console, accept_plan=accept_plan)
        script = Path(program)
        run_sql(
            script,
            master=master,
            bootstrap=bootstrap,
            threads=threads,
            for_idle=for_idle or demo,
            inputs=script.with_name("data.json") if demo else None,
            # An empty address asks for a private broker, even if the project's broker runs.
            config=[*(config or ()), "bootstrap.servers="] if demo else config,
            verbose=verbose,
            as_json=as_json,
        )
        return
    if from_start and not reload:
        raise typer.BadParameter(
            "it belongs to --reload; penstock reset resets an application once",
            param_hint="--from-start",
        )
    configure_logging(is_verbose=verbose)
    # Standard output is for JSON then.
    OUTPUT.uses_stderr = as_json
    require("penstock run", "spark")
    loaded = load_program(program)
    if demo:
        loaded = with_samples(loaded)

    served: dict[str, Any] = {}

    def settings_of(loaded: LoadedProgram) -> dict[str, Any]:
        found = merged_settings(
            loaded, master=master, bootstrap=bootstrap, threads=threads, given=config or ()
        )
        if accept_plan:
            graph = loaded.topology.graph
            found[ACCEPTED_PLAN.name] = plan_fingerprint(graph, StreamsConfig(found)).digest
        return {**found, **served, **({BOOTSTRAP_SERVERS.name: ""} if demo else {})}

    if console:
        served.update(_show_console(settings_of(loaded)))
    checked = StreamsConfig(settings_of(loaded))
    with ExitStack() as stack:
        here: Mapping[str, Any] = {}
        feed: SampleFeed | None = None
        if not checked[BOOTSTRAP_SERVERS]:
            here = stack.enter_context(private_broker(loaded, checked[NUM_STREAM_THREADS]))
            feed = _fed(loaded, here[BOOTSTRAP_SERVERS.name], stack)
        shown = Shown(rows, as_json=as_json, is_demo=demo)
        if reload:
            stack.enter_context(kept_spark(checked))
            Reloading(
                program,
                load_program,
                lambda loaded: {**settings_of(loaded), **here},
                lambda loaded, settings, until: run_once(loaded, settings, until, shown),
                begins_anew=bool(here),
                forget=_forget if from_start and not here else None,
                feed=feed,
            ).run_all()
            return
        if feed is not None and not (for_idle or demo):
            feed.resume()
        until = (lambda snapshot: snapshot.is_idle) if for_idle else _never
        last = run_once(loaded, {**settings_of(loaded), **here}, until, shown)
    if not as_json:
        _print_end(last)


def _check_script(*, console: bool, accept_plan: bool) -> None:
    """Refuse options that only programs have."""
    if console:
        raise typer.BadParameter(
            "a script has no console of its own: penstock server serves one",
            param_hint="--console",
        )
    if accept_plan:
        raise typer.BadParameter(
            "a script says with CREATE OR REPLACE that its state still fits",
            param_hint="--accept-plan",
        )


def _show_console(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Print where the console will be, open it when it is there, and return its settings."""
    link = ConsoleLink.of(settings)
    print_note(f"console: {link.url}")
    if has_browser():
        link.open_when_served()
    return link.settings


def _fed(loaded: LoadedProgram, servers: str, stack: ExitStack) -> SampleFeed:
    """Write the first samples of a program, and return the feed that writes the others."""
    feed = stack.enter_context(closing(feed_for(servers)))
    feed.write_first(samples_of(loaded))
    return feed


def _forget(settings: Mapping[str, Any]) -> None:
    """Delete what an application has left, after all its members have left the group."""
    config = StreamsConfig(settings)
    admin = Admin(admin_settings(config))
    check_stopped(admin, config[APPLICATION_ID], waits=True)
    remove_application(admin, config)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a run shows: how many rows of the first store, and a picture, lines or JSON."""

    rows: int
    as_json: bool
    #: Whether it ends with its sample data, and prints what came out.
    is_demo: bool = False


def run_once(
    loaded: LoadedProgram,
    settings: Mapping[str, Any],
    until: Callable[[Snapshot], bool],
    shown: Shown,
) -> Snapshot:
    """Run a program until it ends, a signal arrives, or ``until`` is true; return the end."""
    streams = penstock.KafkaStreams(loaded.topology, settings)
    name = store_to_show(loaded.topology.graph) if shown.rows else None
    watch = Watch(
        streams,
        rows=(lambda: None)
        if name is None
        else TopRows(lambda: streams.store(name), name, shown.rows),
    )
    title = StreamsConfig(settings)[APPLICATION_ID]
    with java_log() as log, view_of(title, as_json=shown.as_json) as view:
        demo = ProgramDemo(loaded, streams, StreamsConfig(settings)) if shown.is_demo else None
        run_watched(streams, watch, view, log, until=demo.is_over if demo else until)
    if demo is not None:
        demo.print(as_json=shown.as_json)
    return watch.latest


def merged_settings(
    program: LoadedProgram,
    *,
    master: str | None,
    bootstrap: str | None,
    threads: int | None,
    given: Any,
) -> dict[str, Any]:
    """Return the settings of a run.

    The command line wins over the program's own settings. If neither names a broker, it is the
    project's; ``-c bootstrap.servers=`` asks for a private one even if that runs.
    """
    settings: dict[str, Any] = {APPLICATION_ID.name: program.path.stem, **program.config}
    on_command_line: dict[str, Any] = dict(_pair(text) for text in given)
    options = {
        "spark.master": master,
        BOOTSTRAP_SERVERS.name: bootstrap,
        NUM_STREAM_THREADS.name: threads,
    }
    on_command_line |= {name: value for name, value in options.items() if value is not None}
    if BOOTSTRAP_SERVERS.name not in on_command_line:
        settings = with_project_broker(settings)
    return settings | on_command_line


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--config")
    return name, value


def _never(snapshot: Snapshot) -> bool:
    return False


def _print_end(last: Snapshot) -> None:
    records = 0 if last.metrics is None else last.metrics.records
    print_done(f"stopped cleanly after {last.seconds:.0f} s and {records:,} records")
