"""The picture at the top of README: a terminal in which README's first program runs.

Both commands are run in this process, so the picture shows what the program prints today.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from html import escape

from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "start" / "images" / "terminal.svg"
_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
_FILE = "spend.py"
_LEFT, _TOP, _LINE, _CHAR = 18, 58, 20, 7.85
_COLOURS = {"prompt": "#7ee787", "text": "#e6edf3", "name": "#7d8590"}


def program() -> str:
    """Return the first program of README."""
    found = _PROGRAM.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def transcript() -> str:
    """Run the program and describe its topology, as a terminal shows it."""
    printed = io.StringIO()
    scope: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(printed):
        exec(compile(program(), _FILE, "exec"), scope)
    tree = str(getattr(scope["topology"], "describe")("tree"))  # noqa: B009 - of an unknown type
    return f"$ python {_FILE}\n{printed.getvalue()}$ penstock describe {_FILE}\n{tree}"


def render() -> str:
    lines = transcript().rstrip("\n").splitlines()
    width = int(max(map(len, lines)) * _CHAR) + 2 * _LEFT
    height = _TOP + len(lines) * _LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" font-size="13"'
        ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace">'
    )
    return "\n".join(
        [
            head,
            f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>',
            *_buttons(),
            *(_text(number, line) for number, line in enumerate(lines)),
            "</svg>\n",
        ]
    )


def _buttons() -> Iterator[str]:
    for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{24 + 20 * number}" cy="22" r="6" fill="{colour}"/>'


def _text(number: int, line: str) -> str:
    """Return a line: the prompt in green, Kafka's name at its end in grey."""
    place = f'x="{_LEFT}" y="{_TOP + number * _LINE}" xml:space="preserve"'
    if line.startswith("$ "):
        return (
            f'<text {place} fill="{_COLOURS["text"]}"><tspan fill="{_COLOURS["prompt"]}">$</tspan>'
            f"{escape(line[1:])}</text>"
        )
    text, bracket, name = line.partition("   [")
    behind = f'<tspan fill="{_COLOURS["name"]}">{escape(bracket + name)}</tspan>'
    return f'<text {place} fill="{_COLOURS["text"]}">{escape(text)}{behind if name else ""}</text>'
