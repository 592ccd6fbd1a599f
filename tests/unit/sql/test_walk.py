"""Walks over trees.

Exercises ``format_query``.
"""

from penstock.sql.ast.expressions import ColumnRef, FunctionCall
from penstock.sql.ast.node import Node
from penstock.sql.ast.walk import rewrite, walk
from penstock.sql.syntax.format import format_expression, format_statement
from penstock.sql.syntax.parser import parse_expression, parse_statement


def test_walk_finds_every_node() -> None:
    """Nodes in tuples and nested queries are found too."""
    statement = parse_statement(
        "SELECT a, f(b, x => x + c) FROM s WHERE d GROUP BY e HAVING CASE WHEN g THEN h END"
    )
    names = [node.name for node in walk(statement) if isinstance(node, ColumnRef)]
    assert names == ["A", "B", "X", "C", "D", "E", "G", "H"]


def test_rewrite_replaces_from_the_top() -> None:
    """A replaced node is not visited again, and unchanged parts are the same objects."""

    def change(node: Node) -> Node | None:
        if isinstance(node, FunctionCall) and node.name == "SUM":
            return ColumnRef("AGG_0")
        return None

    before = parse_expression("SUM(x + 1) + ABS(y)")
    after = rewrite(before, change)
    assert format_expression(after) == "AGG_0 + ABS(Y)"
    assert rewrite(parse_expression("a + b"), change) == parse_expression("a + b")
    unchanged = parse_statement("SELECT a FROM s")
    assert rewrite(unchanged, lambda _: None) is unchanged
    assert format_statement(unchanged) == "SELECT A FROM S"
