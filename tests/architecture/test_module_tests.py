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


def has_test(file: Path) -> bool:
    """Tell whether a test module has a test at all."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.walk(tree(file)) if isinstance(node, defined)]
    return any(name.startswith("test_") for name in names)


def is_test_of(test: Path, module: Path, alike: int) -> bool:
    """Tell whether a test module has the name of a module.

    If several modules have that name, a folder of the test has to be a folder of the module, too:
    ``tests/unit/serving/test_json_values.py`` says nothing about ``formats/json/json_values.py``.
    """
    if test.stem != f"test_{module.stem}":
        return False
    folders = set(module.relative_to(PACKAGE).parent.parts)
    return alike == 1 or not folders.isdisjoint(test.relative_to(ROOT / "tests").parent.parts)


def test_every_module_over_40_lines_is_tested_by_name() -> None:
    """A module has a ``test_<stem>.py``, or a test module imports it or names it at its top.

    A name counts only if it means one module, so that nothing is named by accident.
    """
    meanings = Counter(name for file in modules() for name in names_of(dotted(file)))
    stems = Counter(file.stem for file in modules())
    tests = [file for file in behaviour_tests() if has_test(file)]
    known = set().union(*map(imported, tests))
    known |= {name for file in tests for name in named(file) if meanings[name] == 1}
    untested = [
        relative(file)
        for file in modules()
        if len(file.read_text(encoding="utf-8").splitlines()) > MIN_LINES
        if known.isdisjoint([dotted(file), *names_of(dotted(file))])
        if not any(is_test_of(test, file, stems[file.stem]) for test in tests)
    ]
    assert untested == []


def test_a_test_of_another_module_with_the_same_name_does_not_count() -> None:
    """Otherwise one test of that name would stand for all of them."""
    values = PACKAGE / "formats" / "json" / "json_values.py"
    unit = ROOT / "tests" / "unit"
    assert is_test_of(unit / "formats" / "json" / "test_json_values.py", values, alike=2)
    assert not is_test_of(unit / "serving" / "test_json_values.py", values, alike=2)
    assert is_test_of(unit / "serving" / "test_json_values.py", values, alike=1)
    assert not is_test_of(unit / "formats" / "json" / "test_json_columns.py", values, alike=1)


def test_a_mention_in_a_comment_or_in_a_function_does_not_count(tmp_path: Path) -> None:
    """Only imports, and names in double backquotes at the top of a module that has tests."""
    file = tmp_path / "test_nothing.py"
    file.write_text(
        '"""Is about ``kernel.task``, and not about kernel.context."""\n'
        "# ``kernel.services``\n"
        "from penstock.kernel import executor\n"
        "def helper() -> None:\n"
        '    """Uses ``kernel.stores``."""\n'
    )
    assert named(file) == {"kernel.task"}
    assert imported(file) == {"penstock.kernel", "penstock.kernel.executor"}
    assert not has_test(file)
