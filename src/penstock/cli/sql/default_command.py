"""A group of commands with a default command."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class DefaultCommandGroup(TyperGroup):
    """Run ``prompt`` unless the first argument names another command.

    So ``penstock sql``, ``penstock sql http://host:8088`` and ``penstock sql -e "..."`` open the
    prompt, and ``penstock sql run FILE`` runs a script.
    """

    default_command = "prompt"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before arguments that name no command."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)
