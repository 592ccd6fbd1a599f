"""``penstock sql run --batch``: a script's queries over history, as Spark jobs that end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import typer

from penstock.cli.output import out, print_done, print_json, print_note, print_table
from penstock.cli.quiet import configure_logging, java_log
from penstock.cli.sql.files import read_records, read_text
from penstock.cli.sql.results import print_result
from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.extras import require
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings
from penstock.runtime.spark.driver.session import spark_session, stop_session
from penstock.runtime.spark.history.errors import as_raised
from penstock.runtime.spark.history.outputs import file_place, plain_rows, write_new
from penstock.runtime.spark.history.sources import HistorySource
from penstock.runtime.spark.spark_version import require_spark
from penstock.sql.queries.batch import SqlBatchResult, check_inputs
from penstock.sql.queries.push import PushQuery
from penstock.sql.results import PrintResult, StatementResult
from penstock.sql.starting import cluster_settings, new_engine
from penstock.testing.sql.script import input_rows

#: How many rows of a stream or table are printed if they are written nowhere.
_SHOWN = 10


def run_batch(
    script: Path,
    *,
    settings: dict[str, Any],
    bootstrap: str | None,
    variables: dict[str, str],
    extensions: Path | None,
    inputs: Path | None,
    history: Sequence[str],
    outputs: str | None,
    is_verbose: bool,
    as_json: bool,
) -> None:
    """Run the queries of a script once over history; print or write what they make.

    Raises:
        PenstockError: a statement was refused, or an input or output is wrong.
    """
    require("penstock sql run", "spark")
    require_spark("penstock sql run --batch", "4.1")
    configure_logging(is_verbose=is_verbose)
    sources = dict(_source(text) for text in history)
    place = None if outputs is None else file_place(outputs)
    engine = new_engine(settings, extensions=extensions)
    engine.catalog.variables.update({name.upper(): value for name, value in variables.items()})
    config = _config(settings, bootstrap)
    if any(source.kind == "topic" for source in sources.values()):
        engine.catalog.topics.update(_partitions(config, sources.values()))
    results = engine.execute(read_text(script), answers=False)
    _refuse_others(results)
    if inputs is not None:
        engine.outbox += input_rows(engine, read_records(inputs, "inputs"))
    check_inputs(engine, sources)
    for result in results:
        print_result(result, as_json=as_json)
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(java_log())
        session, is_own = spark_session(config)
        if is_own:
            stack.callback(stop_session, session, 30.0)
        frames = {name: source.open(session, config) for name, source in sources.items()}
        now = int(time.time() * 1000)
        made = stack.enter_context(engine.run_batch(frames, session, wall_clock=now))
        stack.enter_context(as_raised())
        if place is not None:
            _write(made, *place)
        else:
            _show_sinks(made, as_json=as_json)
        for each in results:
            if each.kind == "push-query":
                _show_select(made, engine.query(each.sql), as_json=as_json)
    if not as_json:
        print_done(f"all of the history has been processed, after {time.monotonic() - began:.0f} s")


def _source(text: str) -> tuple[str, HistorySource]:
    name, equals, place = text.partition("=")
    if not (name and equals and place):
        raise typer.BadParameter(f"{text!r} is not NAME=KIND:PLACE", param_hint="--history")
    return name, HistorySource.parse(place)


def _config(settings: dict[str, Any], bootstrap: str | None) -> StreamsConfig:
    given = {APPLICATION_ID.name: "penstock-sql-batch", **cluster_settings(settings)}
    return StreamsConfig(given | ({} if bootstrap is None else {BOOTSTRAP_SERVERS.name: bootstrap}))


def _partitions(config: StreamsConfig, sources: Iterable[HistorySource]) -> dict[str, int]:
    """Return how many partitions the topics have whose records are read from Kafka."""
    if not config[BOOTSTRAP_SERVERS]:
        raise InvalidArgumentError(
            "no-broker",
            "a history that is a topic needs the Kafka that has it",
            fix="name it: --bootstrap kafka:9092",
        )
    admin = Admin(admin_settings(config))
    places = [source.place for source in sources if source.kind == "topic"]
    return {topic: len(admin.topic(topic).partitions) for topic in places}


def _refuse_others(results: Sequence[StatementResult]) -> None:
    """Refuse statements that only a running application or a cluster can answer."""
    for result in results:
        if result.kind == "pull-query" or isinstance(result, PrintResult):
            what = "PRINT" if isinstance(result, PrintResult) else "a SELECT without EMIT CHANGES"
            raise InvalidArgumentError(
                "not-in-batch",
                f"{what} has nothing to ask in a batch: {result.sql.strip()}",
                fix="take it out; the rows of every stream and table are printed, or written with"
                " --outputs",
            )


def _write(made: SqlBatchResult, kind: str, folder: str) -> None:
    names = {f"{folder}/{name}": name for name in made.sinks}
    for place in write_new({place: made[name] for place, name in names.items()}, kind):
        print_note(f"{names[place]} is in {place}")


def _show_sinks(made: SqlBatchResult, *, as_json: bool) -> None:
    for name in made.sinks:
        frame = made[name]
        if as_json:
            for row in plain_rows(frame):
                print_json({"source": name, "row": row}, indent=False)
            continue
        rows = list(plain_rows(frame, _SHOWN + 1))
        out().print(f"[bold]{name}[/]")
        _show(frame.columns, rows[:_SHOWN])
        if len(rows) > _SHOWN:
            print_note(f"and more rows of {name}; to write all: --outputs parquet:FOLDER")
        out().print()


def _show_select(made: SqlBatchResult, query: PushQuery, *, as_json: bool) -> None:
    rows = plain_rows(made.push(query))
    if as_json:
        for row in rows:
            print_json({"row": row}, indent=False)
    else:
        _show([column.name for column in query.columns], rows)
        out().print()


def _show(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    print_table(
        columns, [["-" if row[c] is None else _cell(row[c]) for c in columns] for row in rows]
    )


def _cell(value: Any) -> object:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value
