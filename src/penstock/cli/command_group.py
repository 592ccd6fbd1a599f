"""Turn errors into messages: exit 1 for a failed request, 2 (typer's own) for misuse."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperGroup

from penstock.cli.output import print_error
from penstock.errors import PenstockError


class CommandGroup(TyperGroup):
    """The root of all commands, which prints Penstock's errors without a traceback."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _let_help_flow(self)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            print_error(error)
            raise typer.Exit(1) from None


def flowing(text: str) -> str:
    r"""Return a text whose paragraphs are one line each, for terminals of any width.

    >>> flowing("One two\nthree.\n\nFour.")
    'One two three.\n\nFour.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _let_help_flow(command: Any) -> None:
    """Join the lines of the help of a command and of all commands below it.

    They end where the line of a docstring ends, which is wider than many terminals.
    """
    if command.help:
        command.help = flowing(command.help)
    for below in getattr(command, "commands", {}).values():
        _let_help_flow(below)
