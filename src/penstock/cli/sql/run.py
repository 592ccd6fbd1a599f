"""``penstock sql run``: run a script's persistent queries on Spark, and print its SELECTs."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from penstock.cli.connection import with_project_broker
from penstock.cli.live.sample_feed import feed_for
from penstock.cli.output import print_done
from penstock.cli.private_broker import new_broker
from penstock.cli.quiet import configure_logging, java_log
from penstock.cli.snapshot import Streams
from penstock.cli.sql.feeds import Feed, PullAnswer, TopicPrinter, push_items
from penstock.cli.sql.files import read_records, read_script
from penstock.cli.sql.print_format import PrintFormat
from penstock.cli.sql.results import print_result
from penstock.cli.sql.samples import script_samples
from penstock.cli.sql.view import ScriptSnapshot, ScriptView, ScriptWatch
from penstock.cli.supervise import run_watched
from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, NUM_STREAM_THREADS, StreamsConfig
from penstock.connect.access import URL as CONNECT_URL
from penstock.connect.worker_registry import running_project_worker
from penstock.extras import require
from penstock.runtime.states import State
from penstock.sql import SqlEngine
from penstock.sql.queries.push import PushQuery
from penstock.sql.queries.spark_push import RunningPush
from penstock.sql.queries.spark_queries import SparkQueries
from penstock.sql.results import PrintResult, StatementResult
from penstock.sql.starting import cluster_settings, new_engine
from penstock.sql.statements.connectors import asks_connect
from penstock.testing.sql.script import input_rows

#: How long all queries must be idle. One idle query is not enough, since queries feed each other.
_IDLE_S = 1.5


def run_script(
    script: Path,
    *,
    settings: dict[str, Any],
    variables: dict[str, str],
    extensions: Path | None,
    inputs: Path | None,
    for_idle: bool,
    is_verbose: bool,
    as_json: bool,
) -> None:
    """Run a script until it is stopped, or until there is nothing left to do.

    Raises:
        PenstockError: a statement was refused, or a query ended with this error.
    """
    require("penstock sql run", "spark")
    configure_logging(is_verbose=is_verbose)
    engine = new_engine(settings, extensions=extensions)
    engine.catalog.variables.update({name.upper(): value for name, value in variables.items()})
    kafka = cluster_settings(settings)
    given = [] if inputs is None else read_records(inputs, "inputs")
    text = read_script(script)
    with ExitStack() as stack:
        connection = engine.connect(kafka) if kafka.get(BOOTSTRAP_SERVERS.name) else None
        if connection is None and asks_connect(text) and not settings.get(CONNECT_URL):
            # Connectors are made while the script is read, and their worker needs a cluster.
            connection = _connected_to_new_broker(engine, kafka, stack)
        if connection is not None:
            stack.callback(connection.connectors.close)
        results = engine.execute(text, answers=False)
        samples = input_rows(engine, given)
        for result in results:
            print_result(result, as_json=as_json)
        run = ScriptRun(engine, results, connection)
        if not run.has_work:
            return
        if connection is None:
            connection = _connected_to_new_broker(engine, kafka, stack)
            if inputs is None:
                _feed(script, connection, engine, kafka, stack, is_finite=for_idle)
        for record in samples:
            connection.send(record)
        run.use(connection, kafka)
        watch = ScriptWatch(run)
        log = stack.enter_context(java_log())
        view = stack.enter_context(ScriptView(script.name, run.feeds, as_json=as_json))
        run_watched(run, watch, view, log, until=run.is_over if for_idle else run.is_done)
        last = watch.latest
    if run.failure is not None:
        raise run.failure
    if not as_json:
        print_done(f"stopped cleanly after {last.seconds:.0f} s and {last.records:,} rows")


def _connected_to_new_broker(
    engine: SqlEngine, kafka: dict[str, Any], stack: ExitStack
) -> SparkQueries:
    here, line = stack.enter_context(new_broker())
    line.stop()
    kafka |= here
    return engine.connect(kafka)


def _feed(
    script: Path,
    connection: SparkQueries,
    engine: SqlEngine,
    kafka: dict[str, Any],
    stack: ExitStack,
    *,
    is_finite: bool,
) -> None:
    """Write made-up rows to the private broker: some at once, and others while the script runs."""
    rows = script_samples(script, engine)
    connection.make_topics()
    feed = stack.enter_context(closing(feed_for(kafka[BOOTSTRAP_SERVERS.name])))
    feed.write_first(rows)
    if not is_finite:
        feed.resume()


def merged_settings(
    given: dict[str, str], *, master: str | None, bootstrap: str | None, threads: int | None
) -> dict[str, Any]:
    """Return the settings of a run.

    The command's own options win over ``--config``, and that over the project's broker and the
    Connect worker that runs beside it.
    """
    is_named = bootstrap is not None or BOOTSTRAP_SERVERS.name in given
    settings: dict[str, Any] = dict(given) if is_named else with_project_broker(given)
    worker = running_project_worker()
    if worker is not None and not is_named:
        settings.setdefault(CONNECT_URL, worker)
    options = {
        "spark.master": master,
        BOOTSTRAP_SERVERS.name: bootstrap,
        NUM_STREAM_THREADS.name: threads,
    }
    return settings | {name: value for name, value in options.items() if value is not None}


class ScriptRun:
    """The running queries of a script: persistent queries, SELECTs and PRINTs."""

    def __init__(
        self,
        engine: SqlEngine,
        results: list[StatementResult],
        connection: SparkQueries | None = None,
    ) -> None:
        self._engine = engine
        self._selects = [engine.query(r.sql) for r in results if r.kind == "push-query"]
        self._pulls = [engine.pull(r.sql) for r in results if r.kind == "pull-query"]
        self._prints = [result for result in results if isinstance(result, PrintResult)]
        self._connection = connection
        self._kafka: dict[str, Any] = {}
        self._pushes: list[RunningPush] = []
        self._readers: list[PullAnswer | TopicPrinter] = []
        self._state = State.CREATED
        self._busy_at = time.monotonic()
        self.feeds: list[Feed] = []

    @property
    def has_work(self) -> bool:
        reads = self._selects or self._pulls or self._prints
        return bool(self._engine.queries or reads or self._engine.outbox or self._has_connectors)

    @property
    def _has_connectors(self) -> bool:
        """Whether a worker runs in this process: its connectors would end with it."""
        return self._connection is not None and self._connection.connectors.has_worker

    def use(self, connection: SparkQueries, kafka: dict[str, Any]) -> None:
        self._connection = connection
        self._kafka = kafka

    # What run_watched asks

    @property
    def state(self) -> State:
        if self._state is State.RUNNING and self.error is not None:
            return State.ERROR
        return self._state

    @property
    def error(self) -> Exception | None:
        feeds = [feed for feed in self.feeds if not feed.stands_alone]
        failed = [each.error for each in (*self._applications().values(), *feeds)]
        return next((error for error in failed if error is not None), None)

    @property
    def failure(self) -> Exception | None:
        """Return the error of a PRINT; the other queries went on, but the run has failed."""
        failed = (feed.error for feed in self.feeds if feed.stands_alone)
        return next((error for error in failed if error is not None), None)

    @property
    def streams(self) -> dict[str, Streams]:
        return dict(self._applications())

    def _applications(self) -> dict[str, Any]:
        persistent = {} if self._connection is None else dict(self._connection.applications)
        return persistent | {push.query.id: push.application for push in self._pushes}

    def start(self) -> None:
        """Start the persistent queries in order, then the SELECTs and PRINTs."""
        assert self._connection is not None
        self._state = State.REBALANCING
        self._connection.sync()
        for query in self._selects:
            self._start_select(query)
        for pull in self._pulls:
            answer = PullAnswer(pull, self._connection)
            self._readers.append(answer)
            self.feeds.append(Feed("pull", answer.items))
        for wanted in self._prints:
            self._start_print(wanted)
        self._busy_at = time.monotonic()
        self._state = State.RUNNING

    def _start_select(self, query: PushQuery) -> None:
        assert self._connection is not None
        running = self._connection.push(query)
        self._pushes.append(running)
        self.feeds.append(Feed(query.id, lambda: push_items(running)))

    def _start_print(self, wanted: PrintResult) -> None:
        config = StreamsConfig({APPLICATION_ID.name: "penstock-print", **self._kafka})
        printer = TopicPrinter(wanted, config, PrintFormat(self._engine, wanted.topic))
        self._readers.append(printer)
        self.feeds.append(Feed(f"print-{wanted.topic}", printer.items, stands_alone=True))

    def is_done(self, snapshot: ScriptSnapshot) -> bool:
        """Return whether no query is left to run: none is persistent, every LIMIT is reached."""
        is_kept = self._engine.queries or self._has_connectors
        return not is_kept and all(feed.has_ended for feed in self.feeds)

    def is_over(self, snapshot: ScriptSnapshot) -> bool:
        """Return whether all present input has been processed and printed."""
        if not (snapshot.is_idle and all(feed.is_quiet for feed in self.feeds)):
            self._busy_at = time.monotonic()
        return self.is_done(snapshot) or time.monotonic() - self._busy_at > _IDLE_S

    def close(self) -> bool:
        """End all queries after their current batches."""
        self._state = State.PENDING_SHUTDOWN
        readers: list[RunningPush | PullAnswer | TopicPrinter] = [*self._pushes, *self._readers]
        for reader in readers:
            reader.stop()
        for feed in self.feeds:
            feed.join()
        for reader in readers:
            reader.close()
        if self._connection is not None:
            self._connection.close()
        self._state = State.NOT_RUNNING
        return True
