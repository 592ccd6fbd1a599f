"""Statements of a request: each is parsed once, from the check to the command that runs.

Exercises ``created_topics``, ``sql.analysed`` and ``sql.session``.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.server.errors import BadStatementError
from penstock.server.node import ServerNode
from penstock.sql.syntax import parser
from tests.unit.server.memory import MemoryTopic, new_node

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


QUERY = "CREATE TABLE t AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;"


def test_a_node_that_has_written_a_command_knows_what_every_other_one_does() -> None:
    """The writer does not plan again what it has planned; the others read it from the topic."""
    topic = MemoryTopic()
    (writer, _), (reader, _) = new_node(topic), new_node(topic)
    writer.start()
    writer.execute(STREAM)
    # It may be another number than the one that was expected, because a marker comes in between.
    for sql in (QUERY, QUERY.replace("TABLE t", "TABLE u"), "INSERT INTO s SELECT v, k FROM s2;"):
        if "INSERT" in sql:
            writer.execute(STREAM.replace("STREAM s", "STREAM s2").replace("'t'", "'t2'"))
        writer.execute(sql)
    reader.start()
    one, other = writer.engine.catalog, reader.engine.catalog
    assert list(one.queries) == list(other.queries)
    assert [q.topology.describe() for q in one.queries.values()] == [
        q.topology.describe() for q in other.queries.values()
    ]
    assert one.topics == other.topics
    assert {n: s.sql for n, s in one.sources.items()} == {
        n: s.sql for n, s in other.sources.items()
    }
    writer.close()
    reader.close()


def test_a_command_that_comes_in_between_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was planned over the catalog before it does not hold any more."""
    topic = MemoryTopic()
    (one, _), (other, _) = new_node(topic), new_node(topic)
    one.start()
    other.start()
    one.execute(STREAM)
    checked = one.runner.refuse_if_degraded

    def drop() -> None:
        monkeypatch.setattr(one.runner, "refuse_if_degraded", checked)
        other.runner.catch_up()
        other.execute("DROP STREAM s;")

    monkeypatch.setattr(one.runner, "refuse_if_degraded", drop)
    with pytest.raises(BadStatementError, match="S does not exist"):
        one.execute(QUERY)
    one.close()
    other.close()
