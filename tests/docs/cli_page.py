"""The reference page of the command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from penstock.cli.main import app
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "cli.md"
INTRODUCTION = """\
# Command line

`penstock` has one command for each thing to do. `--json` gives answers for programs where a
command has it. The exit code is 0 if it worked, 1 if a request failed, and 2 for wrong arguments.
`make docs` writes this page from the commands.

"""
#: Options that every command line of typer has.
SHELLS = ("help", "install_completion", "show_completion")


def render() -> str:
    """Return the page: every command with its arguments and options."""
    commands = list(_commands(typer.main.get_command(app), "penstock"))
    rows = [f"| [`{name}`](#{_anchor(name)}) | {_summary(command)} |" for name, command in commands]
    table = "\n".join(["| Command | What it does |", "|---|---|", *rows])
    return INTRODUCTION + table + "\n" + "".join(_section(*each) for each in commands)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    # Typer has its own copy of click, so classes of click say nothing.
    if commands := getattr(command, "commands", None):
        # Such a group does something by itself: `penstock server` starts the server.
        if command.invoke_without_command:
            yield name, command
        for each in commands.values():
            if not each.hidden:
                yield from _commands(each, f"{name} {each.name}")
    else:
        yield name, command


def _section(name: str, command: Any) -> str:
    arguments = " ".join(_argument(each) for each in command.params if _is_argument(each))
    lines = [f"\n## {name}\n", "```text", f"{name} [OPTIONS] {arguments}".rstrip(), "```\n"]
    lines.append(_text(command) + "\n")
    rows = [_row(each) for each in command.params if each.name not in SHELLS]
    if rows:
        lines += ["| Argument or option | Default | Meaning |", "|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def _row(parameter: Any) -> str:
    metavar = parameter.metavar or ""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if _is_argument(parameter):
        names = f"`{metavar or str(parameter.name).upper()}`"
    elif metavar:
        names += f" `{_cell(metavar)}`"
    default = parameter.default
    shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    help_text = getattr(parameter, "help", None) or ""
    return f"| {_cell(names)} | {shown} | {_cell(help_text)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _argument(parameter: Any) -> str:
    text = parameter.metavar or str(parameter.name).upper()
    return text if parameter.required else f"[{text}]"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _text(command: Any) -> str:
    paragraphs = (command.help or "").split("\f")[0].strip().split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def _summary(command: Any) -> str:
    return _cell(_text(command).split("\n\n")[0])


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
