"""Files of SQL tests, cut into tests at lines such as ``--@test: name``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(r"^\s*--@\s*([A-Za-z.]+)\s*:?\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """One test: its statements, behind as many empty lines as stand before it in its file.

    ``error`` and ``message`` say how its last statement must be refused.
    """

    name: str
    text: str
    error: str | None = None
    message: str | None = None

    @property
    def is_refused(self) -> bool:
        return self.error is not None or self.message is not None


def test_files(paths: Iterable[Path]) -> list[Path]:
    """Return files as they are, and the ``.sql`` files of folders in order of their names."""
    found: list[Path] = []
    for path in paths:
        found.extend(sorted(path.glob("**/*.sql")) if path.is_dir() else [path])
    return found


def sections_of(text: str, otherwise: str) -> Iterator[Section]:
    """Return the tests of a file; without ``--@test`` lines it is one test called ``otherwise``."""
    directives = list(_DIRECTIVE.finditer(text))
    starts = [each for each in directives if each[1].lower() == "test"]
    if not starts:
        yield _section(otherwise, text, 0, len(text), directives)
        return
    ends = [*(each.start() for each in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=True):
        yield _section(start[2] or otherwise, text, start.start(), end, directives)


def _section(
    name: str, text: str, start: int, end: int, directives: list[re.Match[str]]
) -> Section:
    own = {each[1].lower(): each[2] for each in directives if start <= each.start() < end}
    blank = "\n" * text.count("\n", 0, start)
    return Section(
        name, blank + text[start:end], own.get("expected.error"), own.get("expected.message")
    )
