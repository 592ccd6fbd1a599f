"""Statements of a request: each is parsed once, from the check to the command that runs.

Exercises ``created_topics``.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.server.errors import BadStatementError
from penstock.server.node import ServerNode
from penstock.sql.syntax import parser
from tests.unit.server.memory import new_node

STREAM = "CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON', PARTITIONS=1);"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets an entry for each statement that is parsed."""
    seen: list[str] = []
    parse = parser._parse

    def counting(lexemes: list[parser.Lexeme], start: str) -> object:
        seen.append(start)
        return parse(lexemes, start)

    monkeypatch.setattr(parser, "_parse", counting)
    return seen


@pytest.mark.parametrize(
    "statement",
    [
        STREAM.replace("STREAM s", "STREAM other"),
        "CREATE STREAM o AS SELECT * FROM s WHERE v > ${least};",
        "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;",
        "INSERT INTO s (k, v) VALUES (1, ${least});",
        "DESCRIBE s;",
        "SET 'auto.offset.reset' = 'earliest';",
        "DROP STREAM s;",
    ],
)
def test_a_statement_is_parsed_once(statement: str, parsed: list[str]) -> None:
    """It was parsed for the check, for its trial, to run it, and twice as a command."""
    node, _ = new_node()
    node.start()
    node.execute(STREAM)
    parsed.clear()
    node.execute(statement, variables={"least": "5"})
    node.close()
    assert parsed == ["statement"]


def test_a_variable_has_the_value_that_it_has_there(parsed: list[str]) -> None:
    """Statements are parsed before all are run, and a variable may change between them."""
    node, _ = new_node()
    node.start()
    script = (
        f"{STREAM} DEFINE n = '1'; CREATE STREAM a AS SELECT k, ${{n}} AS c FROM s; DEFINE n = '2';"
        " CREATE STREAM b AS SELECT k, ${n} AS c FROM s;"
    )
    made = node.execute(script)
    queries = [name for name in node.engine.queries if name.startswith("CSAS_")]
    columns = [node.execute(f"EXPLAIN {each};")[0] for each in queries]
    node.close()
    assert len(made) == 3
    plans = [each["queryDescription"]["executionPlan"] for each in columns]
    assert "1 AS C" in plans[0]
    assert "2 AS C" in plans[1]
    assert len(parsed) == 7


def test_a_script_for_another_version_of_ksqldb_runs() -> None:
    """Its SET is taken with a warning; a property of a request is refused with ksqlDB's code."""
    node, _ = new_node()
    node.start()
    made = node.execute(f"SET 'ksql.made.up' = '1'; {STREAM} UNSET 'ksql.made.up';")
    node.close()
    assert [each["@type"] for each in made] == ["currentStatus"]


def node_with_topics(*topics: str) -> tuple[ServerNode, list[set[str]]]:
    """Return a node over a cluster that has these topics, and what it is asked to make."""
    made: list[set[str]] = []
    cluster = SimpleNamespace(
        partitions=lambda: dict.fromkeys(topics, 3),
        make_topics=lambda catalog: made.append(set(catalog.topics) - set(topics)),
        admin=SimpleNamespace(list_consumer_groups=lambda: (), topics=dict),
        close=lambda: None,
    )
    node, _ = new_node()
    node.start()
    node.cluster = cast(Any, cluster)
    return node, made


def test_a_topic_that_nobody_asked_for_is_not_created() -> None:
    """As in ksqlDB: a misspelt name would make an empty one."""
    node, made = node_with_topics("clicks")
    create = "CREATE STREAM {} (k INT KEY, v INT) WITH (KAFKA_TOPIC='{}', FORMAT='JSON'{});"
    with pytest.raises(BadStatementError, match="topic 'clikcs' does not exist") as refused:
        node.execute(create.format("a", "clikcs", ""))
    assert "PARTITIONS=1" in str(refused.value)
    assert made == []
    node.execute(create.format("a", "clicks", ""))
    node.execute(create.format("b", "new", ", PARTITIONS=2"))
    assert made == [set(), {"new"}]
    script = (
        "CREATE STREAM c WITH (KAFKA_TOPIC='copied') AS SELECT * FROM a;"
        + create.format("again", "copied", "")
        + create.format("b", "gone", "").replace("STREAM", "STREAM IF NOT EXISTS")
    )
    assert len(node.execute(script)) == 3
    node.close()
