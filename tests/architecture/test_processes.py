"""Every process that the package starts gets an environment of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import modules, relative, tree

_STARTS = frozenset({"Popen", "run", "call", "check_call", "check_output"})
#: Programs of their own, with one thread.
_ALONE = frozenset({"watchdog.py", "archive_maker.py"})


def _without_environment(file: Path) -> Iterator[int]:
    for node in ast.walk(tree(file)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="subprocess"), attr=name), keywords=given
            ) if name in _STARTS and not any(each.arg == "env" for each in given):
                yield node.lineno


def test_processes_are_started_with_an_environment() -> None:
    """Else the system reads the list of variables while a thread may be moving it.

    The programs of ``kafka/processes`` that run alone have one thread, which changes no variable.
    """
    found = [
        f"{relative(file)}:{line}"
        for file in modules()
        if file.name not in _ALONE
        for line in _without_environment(file)
    ]
    assert found == []


def test_processes_are_started_by_subprocess_only() -> None:
    """Other ways to start one take the environment as it is."""
    others = {"system", "popen", "posix_spawn", "posix_spawnp"}
    found = [
        f"{relative(file)}:{node.lineno}"
        for file in modules()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Attribute)
        and node.attr in others
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    ]
    assert found == []
