"""``penstock describe``: show a program's topology without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.cli.output import JsonOption, print_done
from penstock.cli.program import load_program


def describe(
    program: Annotated[
        str, typer.Argument(metavar="APP.PY[:NAME]", help="A program with a topology in it.")
    ],
    form: Annotated[
        Literal["tree", "text", "mermaid", "svg", "json"],
        typer.Option("--format", "-f", help="A tree, or text as in Java, or a picture."),
    ] = "tree",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the topology of a program: operators with their lines, topics and stores."""
    text = str(load_program(program).topology.describe("json" if as_json else form)).rstrip("\n")
    if output is None:
        print(text)
    else:
        output.write_text(f"{text}\n", encoding="utf-8")
        print_done(f"written to {output}")
