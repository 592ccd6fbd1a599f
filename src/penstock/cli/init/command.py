"""``penstock init``: write the files of a new project."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import print_done, print_next
from penstock.errors import InvalidArgumentError

#: What a file of the template is called in the project, where a package cannot have that name.
_RENAMED = {"_gitignore": ".gitignore"}


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The project's folder; made if missing.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option("--name", help="The application's id; else the folder's name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are there already.")
    ] = False,
) -> None:
    """Make a project: a program, its tests, the same in SQL, and a Makefile."""
    wanted = application_name(name or folder.absolute().name)
    content = template(wanted)
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
    print_next(_next_steps(folder))


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


def template(name: str) -> dict[str, str]:
    """Return the files of a project by path, with its name filled in."""
    folder = files("penstock.cli.init").joinpath("template")
    content = {}
    for file in folder.iterdir():
        path = file.name.removesuffix(".txt").replace("__", "/")
        text = file.read_text(encoding="utf-8")
        content[_RENAMED.get(path, path)] = text.replace("@NAME@", name)
    return dict(sorted(content.items()))


def _next_steps(folder: Path) -> list[tuple[str, str]]:
    """Return the next commands for the user, and what each does."""
    steps = [
        ("make test", "in a moment, without Kafka or Spark"),
        ("make run", "live, on a private broker"),
        ("make dev", "runs again whenever a file is saved"),
    ]
    if find_spec("pytest") is None:
        steps.insert(0, ("pip install pytest", "what the tests of the project need"))
    if folder.absolute() != Path.cwd():
        steps.insert(0, (f"cd {shlex.quote(str(folder))}", ""))
    return steps
