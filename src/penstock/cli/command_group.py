"""Turn errors into messages: exit 1 for a failed request, 2 (typer's own) for misuse."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from penstock.cli.output import print_error
from penstock.errors import PenstockError


class CommandGroup(TyperGroup):
    """The root of all commands, which prints Penstock's errors without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            print_error(error)
            raise typer.Exit(1) from None
