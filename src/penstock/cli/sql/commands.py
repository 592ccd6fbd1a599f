"""``penstock sql``: scripts of SQL, run on Spark or tested in this process."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.connection import BootstrapOption
from penstock.cli.output import JsonOption
from penstock.extras import needing

app = typer.Typer(no_args_is_help=True, help="Run and test scripts of SQL (ksqlDB's dialect).")

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
    the batch that is under way; the next run continues where this one ended. Without a broker
    in --bootstrap, in --config or in the project a private one is started.
    """
    command = needing_sql("penstock.cli.sql.run")
    command.run_script(
        script,
        settings=command.merged_settings(
            pairs("--config", config), master=master, bootstrap=bootstrap, threads=threads
        ),
        variables=pairs("--define", define),
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
    ASSERT NULL VALUES, ASSERT STREAM and ASSERT TABLE, each test behind a line `--@test: name`.
    """
    if (inputs is None) != (outputs is None):
        raise typer.BadParameter("--input and --output come together", param_hint="--input")
    command = needing_sql("penstock.cli.sql.test")
    is_passed = command.run_tests(
        paths,
        inputs=inputs,
        outputs=outputs,
        settings=pairs("--config", config),
        variables=pairs("--define", define),
        extensions=extensions,
        as_json=as_json,
    )
    raise typer.Exit(0 if is_passed else 1)


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Cut ``NAME=VALUE`` texts; anything else is misuse."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        found[name] = value
    return found


def needing_sql(module: str) -> Any:
    """Import what needs the extra; the other commands work without it.

    Raises:
        MissingExtraError: ``missing-extra`` with the command that installs it.
    """
    with needing("sql", "SQL"):
        return importlib.import_module(module)
