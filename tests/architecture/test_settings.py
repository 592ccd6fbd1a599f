"""Settings have one home, and reach code as values."""

import ast

from tests.architecture.source import modules, relative, tree, within


def test_only_the_command_line_reads_the_environment() -> None:
    """A setting that hides in an environment variable is in no reference page."""
    offenders = [
        f"{relative(file)}:{node.lineno}"
        for file in modules()
        if not within(file, "cli")
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in {"environ", "getenv"}
    ]
    assert offenders == []
