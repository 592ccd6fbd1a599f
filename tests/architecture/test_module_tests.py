"""A reader of a module finds the tests that exercise it."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.architecture.source import PACKAGE, ROOT, modules, relative, tree

MIN_LINES = 40
IN_BACKQUOTES = re.compile(r"``([\w.]+)``")


def dotted(file: Path) -> str:
    """Return ``penstock.kernel.task`` for ``kernel/task.py``; a package is named by its folder."""
    inside = file.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(inside.parent.parts if inside.name == "__init__" else inside.parts)


def names_of(module: str) -> list[str]:
    """Return every way to name a module: ``column_task``, ``columns.column_task`` and so on.

    One word alone, such as ``names`` or ``query``, may mean anything. It needs its folder.
    """
    parts = module.split(".")
    endings = [".".join(parts[start:]) for start in range(len(parts))]
    return [name for name in endings if "." in name or "_" in name]


@cache
def behaviour_tests() -> list[Path]:
    """Return the test modules outside this folder: tests here look only at texts and imports."""
    here = Path(__file__).parent
    return [file for file in (ROOT / "tests").rglob("test_*.py") if file.parent != here]


def imported(file: Path) -> set[str]:
    """Return the dotted names of what a test module imports, and of what it takes from there."""
    found = set()
    for node in ast.walk(tree(file)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(module), names=names, level=0):
                found |= {module} | {f"{module}.{alias.name}" for alias in names}
    return found


def named(file: Path) -> set[str]:
    """Return the names in double backquotes in the docstring at the top of a test module."""
    return set(IN_BACKQUOTES.findall(ast.get_docstring(tree(file)) or ""))


def test_every_module_over_40_lines_is_tested_by_name() -> None:
    """A module has a ``test_<stem>.py``, or a test module imports it or names it at its top.

    A name counts only if it means one module, so that nothing is named by accident.
    """
    meanings = Counter(name for file in modules() for name in names_of(dotted(file)))
    stems = {file.stem.removeprefix("test_") for file in behaviour_tests()}
    known = set().union(*map(imported, behaviour_tests()))
    known |= {name for file in behaviour_tests() for name in named(file) if meanings[name] == 1}
    untested = [
        relative(file)
        for file in modules()
        if len(file.read_text(encoding="utf-8").splitlines()) > MIN_LINES
        if file.stem not in stems and known.isdisjoint([dotted(file), *names_of(dotted(file))])
    ]
    assert untested == []
