"""``penstock datagen``: write made-up rows to a topic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    TimeoutOption,
    client_settings,
    connect,
)
from penstock.cli.output import JsonOption, out, print_done, print_json, print_note
from penstock.cli.sql.needed import needing_sql

#: Formats whose schemas are kept in a registry.
_WITH_REGISTRY = ("AVRO", "PROTOBUF", "JSON_SR")
_PACKAGE = "penstock.cli.datagen"


def datagen(
    quickstart: Annotated[
        str | None, typer.Argument(help="Built-in rows: orders, users or pageviews.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", metavar="FILE", exists=True, help="An Avro schema."),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            "--program",
            metavar="APP.PY",
            help="Write what its samples() yields; for SQL, rows of samples.avsc beside it.",
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", "-t", help="Where to write.")] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The column for the key.")] = None,
    value_format: Annotated[
        str, typer.Option("--format", "-f", help="JSON, AVRO, PROTOBUF, JSON_SR, DELIMITED …")
    ] = "JSON",
    key_format: Annotated[str, typer.Option("--key-format", help="Format of the key.")] = "KAFKA",
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=1, help="Rows; without it, no end.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", "-r", min=0.001, help="Rows per second.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same number produces the same rows.")
    ] = None,
    start: Annotated[
        int | None, typer.Option("--start", metavar="MS", help="Time of the first row.")
    ] = None,
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, help="Partitions of a new topic.")
    ] = 1,
    registry_url: Annotated[
        str | None,
        typer.Option("--schema-registry", metavar="URL", help="Default: the one kept in Kafka."),
    ] = None,
    show_rows: Annotated[bool, typer.Option("--print", "-p", help="Print every row.")] = False,
    statement: Annotated[
        bool, typer.Option("--sql", help="Print the CREATE statement for the rows, and exit.")
    ] = False,
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Write made-up rows to a topic: a quickstart, or the rows of a schema file.

    With --rate rows come evenly spread, otherwise as fast as Kafka takes them. A topic that does
    not exist is made. With --program they are the samples of a program or script, ten per second,
    which penstock run writes by itself, but only to a private broker. Ctrl-C ends it.
    """
    if program is not None:
        if quickstart or schema or topic or key:
            raise typer.BadParameter("the program says what is written", param_hint="--program")
        _write_samples(
            program,
            connect(bootstrap, command_config, timeout),
            client_settings(bootstrap, command_config, "producer"),
            partitions,
            (iterations, rate, start),
            as_json=as_json,
        )
        return
    plan = _plan(quickstart, schema, topic, key)
    value_format, key_format = value_format.upper(), key_format.upper()
    if statement:
        out().print(plan.create_statement(key_format, value_format), soft_wrap=True)
        return
    connection = client_settings(bootstrap, command_config, "producer")
    admin = connect(bootstrap, command_config, timeout)
    if plan.topic not in admin.topics():
        admin.create_topic(plan.topic, partitions=partitions)
        print_note(f"made topic {plan.topic!r} with {partitions} partitions")
    registry = None
    if {value_format, key_format} & {*_WITH_REGISTRY}:
        registry = needing_sql("penstock.registry.registries").registry_for(
            {**connection, **({"ksql.schema.registry.url": registry_url} if registry_url else {})}
        )
    written = _write(
        plan,
        (key_format, value_format, registry),
        connection,
        (iterations, rate, start),
        seed,
        show_rows=show_rows,
    )
    if as_json:
        print_json({"topic": plan.topic, "rows": written})
    else:
        print_done(f"{written:,} {'row' if written == 1 else 'rows'} to {plan.topic}")


def _write_samples(
    program: str,
    admin: Any,
    settings: dict[str, Any],
    partitions: int,
    pace: tuple[int | None, float | None, int | None],
    *,
    as_json: bool,
) -> None:
    written: dict[str, int] = needing_sql(f"{_PACKAGE}.program_samples").write_program_samples(
        program, admin, settings, partitions=partitions, pace=pace
    )
    for topic, rows in written.items():
        if as_json:
            print_json({"topic": topic, "rows": rows}, indent=False)
        else:
            print_done(f"{rows:,} {'row' if rows == 1 else 'rows'} to {topic}")


def _plan(quickstart: str | None, schema: Path | None, topic: str | None, key: str | None) -> Any:
    if (quickstart is None) == (schema is None):
        raise typer.BadParameter(
            "name a quickstart (orders, users, pageviews), --schema FILE or --program APP.PY",
            param_hint="QUICKSTART",
        )
    if schema is not None:
        return needing_sql(f"{_PACKAGE}.schema_file").read_schema(schema, topic, key)
    return needing_sql(f"{_PACKAGE}.quickstarts").quickstart(quickstart, topic, key)


def _write(
    plan: Any,
    formats: tuple[str, str, Any],
    connection: dict[str, Any],
    pace: tuple[int | None, float | None, int | None],
    seed: int | None,
    *,
    show_rows: bool,
) -> int:
    sender_module = needing_sql(f"{_PACKAGE}.sender")
    clients = needing_sql("penstock.kafka.clients")
    encoder = sender_module.RowEncoder(plan, *formats)
    # The partition of a key is the same as with Java's producer.
    settings = {"partitioner": "murmur2_random", "linger.ms": 5} | connection
    sender = sender_module.RowSender(clients.new_producer(settings), plan.topic)
    try:
        for time_ms, row in plan.rows(seed, sender_module.paced(*pace)):
            sender.send(*encoder.encode(row), time_ms)
            if show_rows:
                print_json(row, indent=False)
    except KeyboardInterrupt:
        pass
    sender.flush()
    written: int = sender.written
    return written
