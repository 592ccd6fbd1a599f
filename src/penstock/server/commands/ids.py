"""The ids of commands, as ksqlDB assigns them: what kind of thing, which one, what is done."""

from __future__ import annotations

from uuid import uuid4

from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node

#: The command that ends all queries of a service.
TERMINATE_CLUSTER = "cluster/TerminateCluster/terminate"
_ALL = "ALL"


def command_id_of(statement: Node) -> str | None:
    """Return the id of a statement that goes through the command topic; None for all others.

    >>> from penstock.sql.syntax.parser import parse_statement
    >>> command_id_of(parse_statement("DROP STREAM clicks;"))
    'stream/CLICKS/drop'
    """
    found = _thing_and_action(statement)
    if found is not None:
        return "/".join(found)
    if isinstance(statement, admin.ControlQuery):
        return f"{statement.action.lower()}/{statement.query_id or _ALL}/execute"
    return f"cluster/{uuid4()}/alter" if isinstance(statement, admin.AlterSystem) else None


def _thing_and_action(statement: Node) -> tuple[str, str, str] | None:
    match statement:
        case ast.CreateSource(kind, name) | ast.CreateAsSelect(kind, name):
            return kind.lower(), _quoted(name), "create"
        case ast.InsertInto(name):
            return "stream", _quoted(name), "create"
        case ast.DropSource(kind, name):
            return kind.lower(), name, "drop"
        case ast.AlterSource(kind, name):
            return kind.lower(), name, "alter"
        case ast.CreateType(name):
            return "type", name, "create"
        case ast.DropType(name):
            return "type", name, "drop"
        case ast.CreateFunction(name):
            return "function", name, "create"
        case ast.DropFunction(name):
            return "function", name, "drop"
        case _:
            return None


def _quoted(name: str) -> str:
    """Write the name as ksqlDB does: in backticks, except for DROP and ALTER."""
    return f"`{name}`"
