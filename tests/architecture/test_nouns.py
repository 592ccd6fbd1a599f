"""An operator has one name, and every layer keeps its part in a file of that name."""

import ast
from pathlib import Path

from tests.architecture.source import ROOT, modules, relative, tree

NODES = {file.stem: file for file in modules("topology/nodes")}
NOUNS = NODES.keys() - {"__init__", "node"}
EXECUTORS = {
    file.stem: f"penstock.{relative(file).removesuffix('.py').replace('/', '.')}"
    for file in modules("kernel/operators")
}

#: How the file of an executor is named: the operator's noun, and this after it.
SUFFIXES = {"executes": "", "vectorises": "_columns"}


def home(node_type: str) -> str | None:
    """The noun whose file defines the node type."""
    for noun in NOUNS:
        for statement in tree(NODES[noun]).body:
            if isinstance(statement, ast.ClassDef) and statement.name == node_type:
                return noun
    return None


def executed(file: Path) -> list[tuple[str, str]]:
    """The node types that the file registers an executor for, each with the decorator's name."""
    return [
        (decorator.args[0].id, decorator.func.id)
        for statement in tree(file).body
        if isinstance(statement, ast.ClassDef)
        for decorator in statement.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id in SUFFIXES
        and isinstance(decorator.args[0], ast.Name)
    ]


def test_executor_lives_in_the_file_named_like_its_node() -> None:
    """Who knows the operator's name has found its code."""
    misplaced = [
        f"{relative(file)}: {node_type}"
        for file in modules("kernel")
        for node_type, decorator in executed(file)
        if f"{home(node_type)}{SUFFIXES[decorator]}" != file.stem
    ]
    assert misplaced == []


def test_column_executor_lives_beside_its_record_executor() -> None:
    """Who reads what happens to a record finds what happens to a batch in the same folder."""
    files = {file.stem: file for file in modules("kernel/operators")}
    alone = [
        relative(file)
        for file in modules("kernel")
        for node_type, decorator in executed(file)
        if decorator == "vectorises" and files[home(node_type) or ""].parent != file.parent
    ]
    assert alone == []


def test_every_operator_has_a_page() -> None:
    """Who knows the operator's name has found its documentation."""
    pages = {page.stem for page in (ROOT / "docs/reference/operators").glob("*.md")} - {"index"}
    assert pages == NOUNS


def test_every_operator_has_its_behaviour_tested() -> None:
    """Who knows the operator's name has found what it does, in tables, for every engine."""
    tests = {file.stem.removeprefix("test_") for file in (ROOT / "tests/operators").glob("test_*")}
    assert NOUNS - tests == set()


def test_page_index_lists_every_operator() -> None:
    """A page nobody links to is not found by reading."""
    index = (ROOT / "docs/reference/operators/index.md").read_text(encoding="utf-8")
    assert [noun for noun in sorted(NOUNS) if f"({noun}.md)" not in index] == []


def test_node_docstrings_name_their_counterpart() -> None:
    """From the data of an operator a reader gets to its code in one step."""
    lost = [
        relative(NODES[noun])
        for noun in sorted(NOUNS)
        if f"``{EXECUTORS[noun]}``" not in (ast.get_docstring(tree(NODES[noun])) or "")
    ]
    assert lost == []
