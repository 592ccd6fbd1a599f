"""Options of the form ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from penstock.model.sql.variable_names import is_variable_name


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Split ``NAME=VALUE`` texts; any other text is a usage error (exit 2)."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        found[name] = value
    return found


def defined(given: Sequence[str] | None) -> dict[str, str]:
    """Split the variables of ``--define``; a name that DEFINE refuses is a usage error."""
    found = pairs("--define", given)
    for name in found:
        if not is_variable_name(name):
            said = f"a variable cannot be called {name!r}: a letter or _ comes first"
            raise typer.BadParameter(said, param_hint="--define")
    return found
