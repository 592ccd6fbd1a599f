"""Finds the code of a program behind the nodes of its topology."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from penstock.serving.status.values import SourceLines
from penstock.topology.graph import Graph
from penstock.topology.nodes import Node

#: A statement may be a whole program in one chain of calls.
_MOST_LINES = 40


def source_lines(graph: Graph) -> dict[str, SourceLines]:
    """Return the statement behind each line of the program that made a node.

    Lines whose file cannot be read any more are left out.
    """
    files = dict(_files(graph.nodes.values()))
    found = {}
    for node in graph.nodes.values():
        site = node.site
        if site is None or site in found:
            continue
        name, _, number = site.rpartition(":")
        text = linecache.getlines(files[name]) if name in files else []
        if number.isdigit() and 0 < int(number) <= len(text):
            found[site] = statement(name, text, int(number))
    return found


def statement(file: str, text: list[str], number: int) -> SourceLines:
    """Return the smallest statement that contains a line; of a long one, the part around it."""
    first, last = _bounds("".join(text), number)
    if last - first >= _MOST_LINES:
        first = max(first, number - _MOST_LINES // 2)
        last = min(last, first + _MOST_LINES - 1)
    lines = tuple(line.rstrip("\n") for line in text[first - 1 : last])
    return SourceLines(file=file, first=first, lines=lines)


def _bounds(text: str, number: int) -> tuple[int, int]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        # A cell of a notebook may have commands of its own.
        return number, number
    found = number, number
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            last = node.end_lineno or node.lineno
            if node.lineno <= number <= last:
                found = node.lineno, last
    return found


def _files(nodes: Iterable[Node]) -> Iterator[tuple[str, str]]:
    """Return paths by the name of their file: a line of a program has only the name.

    A later path wins: the files of the program's own functions are known for certain.
    """
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            yield Path(path).name, path
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if isinstance(main, str):
        yield Path(main).name, main
    for node in nodes:
        for path in _code_files(node):
            yield Path(path).name, path


def _code_files(node: Node) -> Iterator[str]:
    given: list[Any] = [getattr(node, field.name) for field in fields(node)]
    for value in given:
        values = [*value.values()] if isinstance(value, Mapping) else [value]
        for each in values:
            code = getattr(each, "__code__", None)
            if code is not None:
                yield code.co_filename
