"""Options of the form ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Cut ``NAME=VALUE`` texts; anything else is misuse."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        found[name] = value
    return found
