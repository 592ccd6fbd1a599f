"""How commands print: data to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.errors import PenstockError

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# The width of output that another program reads; so large that no line is cut.
_PIPE_WIDTH = 2_000


def out() -> Console:
    """Return a console for data on the current standard output.

    It is made for each call, because tests and shells replace standard output.
    """
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def err() -> Console:
    return Console(stderr=True, width=None if sys.stderr.isatty() else _PIPE_WIDTH, highlight=False)


def print_json(value: Any, *, indent: bool = True) -> None:
    """Print one JSON document; without ``indent`` on one line, for streams of documents."""
    option = orjson.OPT_INDENT_2 if indent else 0
    print(orjson.dumps(value, option=option, default=str).decode(), flush=not indent)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings, with numbers aligned to the right."""
    cells = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for index, name in enumerate(columns):
        is_number = bool(cells) and all(isinstance(row[index], int) for row in cells)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(str(cell)) for cell in row))
    out().print(table)


def print_done(text: str) -> None:
    """Print to standard error, in green, that something was done."""
    _print_sentence(Text("✓ ", style="green").append(text, style="default"))


def print_note(text: str) -> None:
    """Print a remark to standard error, in grey."""
    _print_sentence(Text(text, style="dim"))


def _print_sentence(text: Text) -> None:
    """Print to standard error; a terminal gets lines that end between words."""
    console = err()
    console.print(text, soft_wrap=not console.is_terminal)


def print_next(steps: Sequence[tuple[str, str]]) -> None:
    """Print the next commands for the user, one below the other, and what each does."""
    width = max(len(command) for command, _ in steps)
    lines = Text()
    for number, (command, what) in enumerate(steps):
        lines.append("       " if number else "\nnext:  ", "dim")
        lines.append(f"{command:{width}}   " if what else command).append(f"{what}\n", "dim")
    out().print(lines, soft_wrap=True, end="")


def print_error(error: PenstockError) -> None:
    """Print an error in red, and its fix in the normal colour."""
    first, *rest = str(error).split("\n  fix: ", 1)
    message = Text(first, style="red")
    for fix in rest:
        message.append("\n  fix: ", style="bold").append(fix, style="not bold default")
    err().print(message, soft_wrap=True)
