"""Module and class names say what a thing is; words such as ``utils`` are refused."""

import ast
import re

from tests.architecture.source import modules, relative, tree

FORBIDDEN_WORDS = frozenset({"Impl", "Abstract", "Base", "Manager", "Helper"})
FORBIDDEN_MODULES = frozenset({"common", "helpers", "misc", "util", "utils"})


def test_class_names_use_no_empty_word() -> None:
    """`RocksStore` says what makes it different; `StoreImpl` says nothing."""
    offenders = [
        f"{relative(file)}: {node.name}"
        for file in modules()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.ClassDef)
        and FORBIDDEN_WORDS.intersection(re.findall(r"[A-Z][a-z]*", node.name))
    ]
    assert offenders == []


def test_module_names_use_no_empty_word() -> None:
    """A file whose name fits anything collects everything."""
    assert [relative(file) for file in modules() if file.stem in FORBIDDEN_MODULES] == []
