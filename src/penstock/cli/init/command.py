"""``penstock init``: write the files of a new project."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.init.templates import TEMPLATES, Template
from penstock.cli.output import print_done, print_next
from penstock.errors import InvalidArgumentError

_KINDS = "; ".join(f"{name}: {template.about}" for name, template in TEMPLATES.items())


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The project's folder; made if missing.")
    ] = Path(),
    template: Annotated[
        str, typer.Option("--template", "-t", metavar="NAME", help=f"{_KINDS}.")
    ] = "streams",
    name: Annotated[
        str | None, typer.Option("--name", help="The application's id; else the folder's name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are there already.")
    ] = False,
) -> None:
    """Make a project with tests, a Makefile, sample data without end, and files for Docker."""
    chosen = TEMPLATES.get(template)
    if chosen is None:
        raise typer.BadParameter(
            f"{template!r} is not one of {', '.join(TEMPLATES)}", param_hint="--template"
        )
    content = chosen.files(application_name(name or folder.absolute().name))
    there = sorted(path for path in content if (folder / path).exists())
    if there and not force:
        raise InvalidArgumentError(
            "files-exist",
            f"{str(folder)!r} has {', '.join(there)} already",
            fix="name another folder, or overwrite them with --force",
        )
    for path, text in content.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    print_done(f"{len(content)} files in {folder.absolute()}")
    print_next(_next_steps(folder, chosen))


def application_name(text: str) -> str:
    """Return a name that Kafka takes for groups and topics, and pip for a project.

    Raises:
        InvalidArgumentError: ``bad-name``: there is no letter or digit in it.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name:
        raise InvalidArgumentError(
            "bad-name",
            f"{text!r} has no letter or digit that could name an application",
            fix="name it with --name",
        )
    return name


def _next_steps(folder: Path, template: Template) -> list[tuple[str, str]]:
    """Return the next commands for the user, and what each does."""
    steps = list(template.steps)
    missing = [package for package in template.tested_with if find_spec(package) is None]
    if missing:
        steps.insert(0, (f"pip install {' '.join(missing)}", "what the project needs besides"))
    if folder.absolute() != Path.cwd():
        steps.insert(0, (f"cd {shlex.quote(str(folder))}", ""))
    return steps
