"""Every shell block of every page names commands, options and targets that exist."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from penstock.cli.main import app
from tests.architecture.source import PACKAGE, ROOT
from tests.docs.pages import Block, blocks

PAGES = blocks("sh")
LINES = [
    (block, line)
    for each in PAGES.values()
    for block in each
    if block.is_run
    for line in block.text.replace("\\\n", " ").splitlines()
]
ROOT_COMMAND = typer.main.get_command(app)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_penstock_commands_parse(page: str) -> None:
    """A line that begins with penstock can be typed: its command and its options exist."""
    for block, line in LINES:
        words = shlex.split(line, comments=True)
        if block.page == page and words and words[0] == "penstock":
            assert wrong_in(words[1:]) is None, (block.place, line)


def test_make_targets_exist() -> None:
    """A line that begins with make names a target of the Makefile, here or in a new project."""
    projects = (PACKAGE / "cli" / "init" / "files").glob("*/Makefile.txt")
    makefiles = [file.read_text(encoding="utf-8") for file in (ROOT / "Makefile", *projects)]
    targets = set(re.findall(r"^([a-z-]+):", "\n".join(makefiles), re.MULTILINE))
    named = {line.split()[1] for _, line in LINES if re.match(r"make [a-z]", line)}
    assert named <= targets


def wrong_in(words: list[str]) -> str | None:
    """Return what click would refuse about a command line, without running it."""
    command: Any = ROOT_COMMAND
    while hasattr(command, "commands"):
        default = getattr(command, "default_command", None)
        if default is not None and not (words and words[0] in command.commands):
            words = [default, *words]
        if not words or words[0].startswith("-"):
            break
        found = command.commands.get(words[0])
        if found is None:
            return f"there is no command {words[0]!r}"
        command, words = found, words[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
    unknown = [name for name in given if name not in known | {"--help", "-h", "--version"}]
    return f"{command.name} does not take {unknown}" if unknown else None


def test_unknown_options_are_noticed() -> None:
    """The check itself can fail."""
    assert wrong_in(["run", "app.py", "--nonsense"]) is not None
    assert wrong_in(["nonsense"]) is not None
    assert wrong_in(["run", "app.py", "--threads", "2"]) is None


def test_blocks_are_found() -> None:
    """Pages have shell blocks; a broken search would test nothing."""
    assert len(LINES) > 10
    assert all(isinstance(block, Block) for block, _ in LINES)
