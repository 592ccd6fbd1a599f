"""Secrets in statements are never shown, and roles are those of statements.

Exercises ``security.masking`` and ``security.roles``.
"""

from __future__ import annotations

import pytest

from penstock.server.errors import ForbiddenError
from penstock.server.security.masking import blotted, masked
from penstock.server.security.roles import check_access, needed_access
from penstock.serving.credentials import Access
from penstock.sql.syntax.parser import parse_statement


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE SINK CONNECTOR c WITH ('connection.password' = 'hunter2');",
        "CREATE SINK CONNECTOR c WITH (\"connection.password\"='hunter2');",
        "CREATE SINK CONNECTOR c WITH (`aws.secret.access.key` = 'hunter2');",
        "SET 'sasl.jaas.config' = 'it''s hunter2';",
        "CREATE SOURCE CONNECTOR c WITH ('url' = 'jdbc:x://ann:hunter2@db/shop');",
        "CREATE SOURCE CONNECTOR c WITH ('url' = 'jdbc:x://db/shop?user=a&password=hunter2&b=c');",
        "create stream s with (ssl_token = 'hunter2', kafka_topic='s');",
    ],
)
def test_secret_is_hidden(sql: str) -> None:
    """Whatever quotes stand around its name, and also inside of a URL."""
    assert "hunter2" not in masked(sql)
    assert "[hidden]" in masked(sql) or "[string]" in masked(sql)
    assert "hunter2" not in blotted(sql)
    assert len(blotted(sql)) == len(sql)


def test_other_statements_are_not_changed() -> None:
    """What is no secret stays readable."""
    sql = "CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    assert masked(sql) == blotted(sql) == sql


def test_stars_leave_every_line_where_it_was() -> None:
    """Of a connector only the class is open, as in ksqlDB."""
    sql = "CREATE SINK CONNECTOR c WITH (\n'connector.class'='X', 'a'='b\nc', 'topics'='t');"
    assert blotted(sql) == (
        "CREATE SINK CONNECTOR c WITH (\n'connector.class'='X', 'a'='*\n*', 'topics'='*');"
    )


@pytest.mark.parametrize(
    ("sql", "access"),
    [
        ("SELECT * FROM s EMIT CHANGES;", Access.READ),
        ("SHOW STREAMS;", Access.READ),
        ("DESCRIBE s;", Access.READ),
        ("EXPLAIN CSAS_A_0;", Access.READ),
        ("PRINT 's';", Access.READ),
        ("SET 'auto.offset.reset' = 'earliest';", Access.READ),
        ("INSERT INTO s VALUES (1);", Access.WRITE),
        ("CREATE STREAM a AS SELECT * FROM s;", Access.WRITE),
        ("DROP STREAM s;", Access.WRITE),
        ("TERMINATE CSAS_A_0;", Access.WRITE),
        ("DROP STREAM s DELETE TOPIC;", Access.FULL),
        ("ALTER SYSTEM 'auto.offset.reset' = 'earliest';", Access.FULL),
        ("CREATE SINK CONNECTOR c WITH ('a' = 'b');", Access.FULL),
    ],
)
def test_statement_needs_a_role(sql: str, access: Access) -> None:
    """A role that is one step lower is refused, with both names."""
    statement = parse_statement(sql)
    assert needed_access(statement) is access
    check_access(statement, access, sql)
    with pytest.raises(ForbiddenError) as refused:
        check_access(statement, Access(access - 1), sql)
    assert refused.value.status == 403
