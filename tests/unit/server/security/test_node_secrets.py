"""No answer and no error of a node shows a secret of a statement."""

from __future__ import annotations

import pytest

from penstock.server.errors import BadStatementError
from penstock.server.node import ServerNode


def test_secrets_of_alter_system_are_in_no_answer(node: ServerNode) -> None:
    """Neither in the answer nor in the status of its command, which every reader may ask for."""
    (entity,) = node.execute("ALTER SYSTEM 'ssl.key.password' = 'hunter2';")
    assert "[hidden]" in entity["commandStatus"]["message"]
    assert "hunter2" not in str(entity)
    assert "hunter2" not in str(node.runner.statuses.all())


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE SINK CONNECTOR c WITH ('connector.class'='X', 'password'='hunter2', 'a'=);",
        "SET 'sasl.jaas.config'='hunter2' oops;",
        "CREATE STREAM z (v INT) WITH (KAFKA_TOPIC='z', 'api.key'='hunter2');",
    ],
)
def test_errors_point_into_a_text_without_secrets(node: ServerNode, sql: str) -> None:
    """Its lines and columns are those of the statement, so clients can show a caret, too."""
    with pytest.raises(BadStatementError) as refused:
        node.execute(sql)
    assert "hunter2" not in str(refused.value)
    assert "'*******'" in refused.value.message
    assert refused.value.statement == sql.replace("hunter2", "*******")
