"""The programs on the page about serialization work as they stand there, one after the other."""

import re
from typing import Any

from penstock.config import PREFIXES, SETTINGS
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs/how-to/serialization-and-schemas.md").read_text(encoding="utf-8")


def test_programs_run() -> None:
    """Each block goes on where the one before it ended; their assertions hold."""
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    # Dataclasses look for the module that they are in.
    scope: dict[str, Any] = {"__name__": __name__}
    for number, program in enumerate(programs, 1):
        exec(compile(program, f"block {number} of the page", "exec"), scope)
    assert len(programs) == 7


def test_settings_exist() -> None:
    """Every name in the table of settings is one that an application takes."""
    rows = re.findall(r"^\| (`[a-z.]+(?:…)?`(?:, `[a-z.]+`)*) \|", PAGE, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([a-z.]+)", row)]
    assert [name for name in names if name not in SETTINGS and name not in PREFIXES] == []
    assert len(names) == 7
