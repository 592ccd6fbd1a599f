"""Which role each kind of statement needs."""

from __future__ import annotations

from penstock.server.errors import ForbiddenError
from penstock.serving.credentials import Access
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query

_NAMES = {Access.READ: "read", Access.WRITE: "write", Access.FULL: "admin"}
#: Statements that change nothing, or only the session of the request.
_READING = (
    Query,
    admin.Show,
    admin.DescribeSource,
    admin.DescribeAll,
    admin.DescribeFunction,
    admin.DescribeConnector,
    admin.PrintTopic,
    admin.SetProperty,
    admin.UnsetProperty,
    admin.Define,
    admin.Undefine,
    ast.Explain,
    ast.AssertTopic,
    ast.AssertSchema,
)
#: Statements that reach beyond the streams and tables of the service, or run foreign code.
_ADMINISTRATING = (
    admin.AlterSystem,
    ast.CreateConnector,
    ast.DropConnector,
    ast.CreateFunction,
    ast.DropFunction,
)


def needed_access(statement: Node) -> Access:
    """Return what a caller must be allowed to do to run a statement."""
    if isinstance(statement, _READING):
        return Access.READ
    if isinstance(statement, _ADMINISTRATING):
        return Access.FULL
    if isinstance(statement, ast.DropSource) and statement.delete_topic:
        return Access.FULL
    return Access.WRITE


def check_access(statement: Node, access: Access, sql: str) -> None:
    """Refuse a statement that the caller may not run.

    Raises:
        ForbiddenError: ``forbidden``.
    """
    needed = needed_access(statement)
    if access < needed:
        raise ForbiddenError(
            "forbidden",
            f"the statement needs the role {_NAMES[needed]}, and these credentials have"
            f" {_NAMES.get(access, 'none')}",
            fix="use a token or a user with that role",
            statement=sql,
        )
