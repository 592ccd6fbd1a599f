"""The code behind a node is the statement that made it."""

from __future__ import annotations

import penstock as ps
from penstock.serving.status.program import source_lines, statement


def test_a_node_has_the_statement_of_its_line() -> None:
    """A chain over several lines is shown as a whole."""
    builder = ps.StreamsBuilder()
    (
        builder.stream("orders")
        .filter(lambda key, value: value is not None)
        .to("kept")
    )  # fmt: skip
    found = source_lines(builder.build().graph)
    [shown] = {lines.lines for lines in found.values()}
    assert next(iter(found)).startswith("test_program.py:")
    assert (shown[0].strip(), len(shown)) == ("(", 5)


def test_a_statement_of_a_hundred_lines_is_cut_around_the_line() -> None:
    """The panel shows where the node is, not the whole program."""
    text = ["call(\n", *[f"    argument_{number},\n" for number in range(100)], ")\n"]
    shown = statement("app.py", text, 60)
    assert len(shown.lines) == 40
    assert shown.first <= 60 < shown.first + 40


def test_a_line_that_is_no_python_is_shown_alone() -> None:
    """A cell of a notebook may begin with a magic command."""
    assert statement("cell", ["%load_ext x\n", "stream = 1\n"], 2).lines == ("stream = 1",)


def test_a_file_that_is_gone_leaves_no_code() -> None:
    """A line of a program that was typed, or was deleted meanwhile."""
    scope: dict[str, ps.Topology] = {}
    code = (
        "import penstock as ps\nbuilder = ps.StreamsBuilder()\n"
        "builder.stream('a').to('b')\nmade = builder.build()\n"
    )
    exec(compile(code, "/nowhere/typed.py", "exec"), scope)
    assert source_lines(scope["made"].graph) == {}
