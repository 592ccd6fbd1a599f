"""The repository as the architecture tests see it: paths and parsed modules."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"


def modules(*folders: str) -> list[Path]:
    """Python files of the given folders of the package, or of the whole package."""
    tops = [PACKAGE / folder for folder in folders] or [PACKAGE]
    return sorted(file for top in tops for file in top.rglob("*.py"))


def within(file: Path, folder: str) -> bool:
    return file.is_relative_to(PACKAGE / folder)


def relative(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def imported(file: Path) -> set[str]:
    """Top-level packages that the file imports when it runs, not only for type checkers."""
    return {name.partition(".")[0] for name in _imported(tree(file))}


def _imported(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
                for statement in otherwise:
                    yield from _imported(statement)
            case _:
                yield from _imported(child)


def docstring_lines(file: Path) -> int:
    """How many lines of the file are docstrings."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    total = 0
    for node in ast.walk(tree(file)):
        if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            total += (first.end_lineno or first.lineno) - first.lineno + 1
    return total
