"""``penstock sql``: the prompt of a server; scripts, run on Spark or tested in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.connection import BootstrapOption
from penstock.cli.migrations.commands import app as migrations
from penstock.cli.output import JsonOption
from penstock.cli.sql.default_command import DefaultCommandGroup
from penstock.cli.sql.needed import needing_sql
from penstock.cli.sql.pairs import defined, pairs
from penstock.extras import require

__all__ = ["ConfigOption", "DefineOption", "ExtensionsOption", "app", "needing_sql", "pairs"]

app = typer.Typer(
    cls=DefaultCommandGroup,
    help="Type SQL (ksqlDB's dialect), or run and test scripts of it."
    " Without a command it is the prompt: penstock sql [URL].",
)
app.add_typer(migrations, name="migrations")

DefineOption = Annotated[
    list[str] | None,
    typer.Option("--define", "-d", metavar="NAME=VALUE", help="A variable, used as ${NAME}."),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting of the engine."),
]
ExtensionsOption = Annotated[
    Path | None,
    typer.Option(
        "--extensions",
        "-e",
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="Python files with @udf, @udaf and @udtf functions.",
    ),
]


@app.command()
def prompt(
    url: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="The server; without one, a server in this process."),
    ] = None,
    execute: Annotated[
        list[str] | None,
        typer.Option("--execute", "-e", metavar="SQL", help="Run these statements and exit."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Run a file and exit; - is stdin."),
    ] = None,
    define: DefineOption = None,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config-file",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Properties of all statements, as name=value lines.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", metavar="FORMAT", help="tabular or json.")
    ] = "tabular",
    row_limit: Annotated[
        int | None,
        typer.Option(
            "--query-row-limit", min=1, metavar="ROWS", help="End queries after this many rows."
        ),
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option("--query-timeout", min=1, metavar="MS", help="End queries after this time."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="User of the server.")] = None,
    password: Annotated[
        str | None,
        typer.Option("--password", "-p", envvar="PENSTOCK_SQL_PASSWORD", help="Its password."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="PENSTOCK_SQL_TOKEN", help="Bearer token of the server."),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option("--ca", metavar="FILE", exists=True, help="Certificates to check TLS with."),
    ] = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Start a server here, even if one is running.")
    ] = False,
    bootstrap: BootstrapOption = None,
    config: ConfigOption = None,
) -> None:
    """Type SQL and see the answers; the same without this word: penstock sql [URL].

    Statements of -e, -f or a pipe are run instead, up to the first that fails (exit 1). Without
    URL the server at 127.0.0.1:8088 is used if there is one, else one is started in this process.
    """
    if output.lower() not in ("tabular", "json"):
        raise typer.BadParameter(f"{output!r} is neither tabular nor json", param_hint="--output")
    if user is not None and password is None:
        password = typer.prompt("Password", hide_input=True, err=True)
    require("penstock sql", "sql")
    command = needing_sql("penstock.cli.sql.prompt.command")
    login = {"user": user, "password": password, "token": token, "ca": ca}
    raise typer.Exit(
        command.run_command(
            url=url,
            execute=execute or (),
            file=file,
            variables=defined(define),
            config_file=config_file,
            output_format=output.lower(),
            rows=row_limit,
            seconds=None if timeout is None else timeout / 1000,
            login={name: value for name, value in login.items() if value is not None},
            is_embedded=embedded,
            settings=pairs("--config", config),
            bootstrap=bootstrap,
        )
    )


@app.command()
def run(
    script: Annotated[
        Path, typer.Argument(metavar="FILE.SQL", exists=True, dir_okay=False, help="The script.")
    ],
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Spark's master: local[4], spark://…"),
    ] = None,
    bootstrap: BootstrapOption = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Stream threads of each query.")
    ] = None,
    for_idle: Annotated[
        bool, typer.Option("--for-idle", help="Process what is there, then stop.")
    ] = False,
    inputs: Annotated[
        Path | None,
        typer.Option("--input", "-i", metavar="FILE", exists=True, help="JSON records to write."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Run over --history as Spark jobs, then stop.")
    ] = False,
    history: Annotated[
        list[str] | None,
        typer.Option(
            "--history",
            metavar="NAME=KIND:PLACE",
            help="With --batch, the history of a stream, table or topic:"
            " orders=parquet:/lake/orders?timestamp=ordered_at.",
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            "--outputs",
            metavar="KIND:FOLDER",
            help="With --batch, where rows go, in a folder for each stream and table.",
        ),
    ] = None,
    define: DefineOption = None,
    config: ConfigOption = None,
    extensions: ExtensionsOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a script's queries on Spark, and show state, rows/s, lag and the rows of SELECTs.

    Nothing runs unless every statement is accepted. Ctrl-C and SIGTERM end all queries after
    the batches under way; the next run continues where this one ended. Without a broker
    in --bootstrap, in --config or in the project a private one is started.

    With --batch the queries run once over files or tables, without Kafka. Columns are those of the
    stream, or records of its topic as key and value; the time of a row is timestamp or ROWTIME.
    """
    if batch:
        needing_sql("penstock.cli.sql.batch").run_batch(
            script,
            settings=pairs("--config", config)
            | ({} if master is None else {"spark.master": master}),
            bootstrap=bootstrap,
            variables=defined(define),
            extensions=extensions,
            inputs=inputs,
            history=history or (),
            outputs=outputs,
            is_verbose=verbose,
            as_json=as_json,
        )
        return
    if history or outputs:
        name = "--history" if history else "--outputs"
        raise typer.BadParameter("it belongs to --batch", param_hint=name)
    command = needing_sql("penstock.cli.sql.run")
    command.run_script(
        script,
        settings=command.merged_settings(
            pairs("--config", config), master=master, bootstrap=bootstrap, threads=threads
        ),
        variables=defined(define),
        extensions=extensions,
        inputs=inputs,
        for_idle=for_idle,
        is_verbose=verbose,
        as_json=as_json,
    )


@app.command("test")
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", exists=True, help="SQL tests: files, or folders of them."),
    ],
    inputs: Annotated[
        Path | None,
        typer.Option("--input", "-i", metavar="FILE", exists=True, help="JSON with the input."),
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", exists=True, help="JSON with the output."),
    ] = None,
    define: DefineOption = None,
    config: ConfigOption = None,
    extensions: ExtensionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test SQL in this process, without Kafka, Spark and Java. Exit 0: all pass, 1: some fail.

    With --input and --output one script is fed with records, and what it writes is compared.
    Without them the files have tests of their own: INSERT INTO ... VALUES, then ASSERT VALUES,
    ASSERT NULL VALUES, ASSERT STREAM and ASSERT TABLE, each test after a line `--@test: name`.
    """
    if (inputs is None) != (outputs is None):
        raise typer.BadParameter("--input and --output come together", param_hint="--input")
    command = needing_sql("penstock.cli.sql.test")
    is_passed = command.run_tests(
        paths,
        inputs=inputs,
        outputs=outputs,
        settings=pairs("--config", config),
        variables=defined(define),
        extensions=extensions,
        as_json=as_json,
    )
    raise typer.Exit(0 if is_passed else 1)
