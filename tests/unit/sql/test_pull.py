"""SELECT without EMIT: an answer from what tables have at the moment."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql import SqlEngine, SqlError
from penstock.sql.queries.local import LocalQueries

PEOPLE = [
    ("1", b'{"TOWN":"Ulm","AGE":30}'),
    ("2", b'{"TOWN":"Ulm","AGE":20}'),
    ("3", b'{"TOWN":"Bonn","AGE":40}'),
    ("4", b'{"TOWN":"Bonn","AGE":null}'),
    ("5", b'{"TOWN":"Kiel","AGE":9}'),
    ("5", None),
    ("2", b'{"TOWN":"Ulm","AGE":50}'),
]


@pytest.fixture(scope="module")
def engine() -> SqlEngine:
    engine = SqlEngine()
    engine.execute("""
        CREATE TABLE people (id VARCHAR PRIMARY KEY, town VARCHAR, age INT)
            WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE TABLE towns AS SELECT town, COUNT(*) AS n FROM people GROUP BY town;
    """)
    return engine


@pytest.fixture(scope="module")
def running(engine: SqlEngine) -> Iterator[LocalQueries]:
    with engine.local() as queries:
        for time, (key, value) in enumerate(PEOPLE):
            queries.pipe("people", key.encode(), value, time)
        yield queries


def answer(engine: SqlEngine, running: LocalQueries, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in engine.pull(sql).rows(running.records)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM towns ORDER BY town", [("Bonn", 2), ("Kiel", 0), ("Ulm", 2)]),
        ("SELECT age FROM people WHERE id = '2'", [(50,)]),
        (
            "SELECT town AS t FROM towns UNION ALL SELECT id FROM people ORDER BY t DESC LIMIT 4",
            [("Ulm",), ("Kiel",), ("Bonn",), ("4",)],
        ),
        ("SELECT id FROM people ORDER BY age DESC, id", [("4",), ("2",), ("3",), ("1",)]),
        ("SELECT id FROM people ORDER BY age, id LIMIT 2", [("1",), ("3",)]),
        ("SELECT id FROM people ORDER BY age, id LIMIT 2 OFFSET 1", [("3",), ("2",)]),
        ("SELECT id FROM people ORDER BY age, id OFFSET 3", [("4",)]),
        ("SELECT id FROM people ORDER BY id LIMIT 5 OFFSET 9", []),
        ("SELECT DISTINCT town FROM people offset ORDER BY town OFFSET 1", [("Ulm",)]),
        ("SELECT id FROM people ORDER BY age NULLS FIRST LIMIT 1", [("4",)]),
        ("SELECT age * 2 AS a FROM people ORDER BY a LIMIT 1", [(60,)]),
        ("WITH old AS (SELECT id, age FROM people WHERE age > 40) SELECT id FROM old", [("2",)]),
        (
            "SELECT town, MAX(age), COUNT(*) FROM people GROUP BY town ORDER BY MAX(age)",
            [("Bonn", 40, 2), ("Ulm", 50, 2)],
        ),
        ("SELECT COUNT(*), SUM(n) FROM towns", [(3, 4)]),
        ("SELECT town, COUNT(*) FROM people GROUP BY town HAVING MIN(age) < 40", [("Ulm", 2)]),
        ("SELECT DISTINCT town FROM people ORDER BY town", [("Bonn",), ("Ulm",)]),
        (
            "SELECT id, n FROM people p JOIN towns t ON p.town = t.town ORDER BY id LIMIT 2",
            [("1", 2), ("2", 2)],
        ),
    ],
)
def test_tables_answer(
    engine: SqlEngine, running: LocalQueries, sql: str, expected: list[Any]
) -> None:
    """The last row of each key counts; groups, order, DISTINCT and LIMIT come after."""
    assert answer(engine, running, sql) == expected


def test_rows_cannot_be_sorted_by_a_collection(engine: SqlEngine) -> None:
    """There is no order between arrays."""
    with pytest.raises(SqlError, match="cannot be sorted by a ARRAY"):
        engine.pull("SELECT id FROM people ORDER BY ARRAY[age]")


def test_execute_checks_a_pull_query_and_says_its_kind(engine: SqlEngine) -> None:
    """Whoever runs statements knows that there are rows to ask for."""
    (result,) = engine.execute("SELECT id FROM people")
    assert result.kind == "pull-query"
    with pytest.raises(SqlError, match="NAME"):
        engine.execute("SELECT name FROM people")


def test_only_topics_of_sources_are_read(engine: SqlEngine, running: LocalQueries) -> None:
    """Repartition topics of the query are nowhere."""
    asked: list[str] = []

    def read(topic: str) -> list[ProducedRecord]:
        asked.append(topic)
        return running.records(topic)

    assert engine.pull("SELECT COUNT(*) AS n FROM people").rows(read) == [{"N": 4}]
    assert asked == ["people"]
