"""EXPLAIN tells what each step does, which operators that becomes, and how they run.

Exercises ``planner.query`` and ``statements.explaining``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.sql import SqlEngine

SOURCES = """
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR, `ms` BIGINT)
    WITH (KAFKA_TOPIC='clicks-in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM views (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='views-in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR)
    WITH (KAFKA_TOPIC='users-in', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
"""
CLICKS = "STREAM CLICKS, topic 'clicks-in', KAFKA key, JSON value"
FOLDS = "SUM(CLICKS.`ms`) AS KSQL_AGG_VARIABLE_0, COUNT(*) AS KSQL_AGG_VARIABLE_1"
WINDOW = "WINDOW TUMBLING (SIZE 1 HOURS, GRACE PERIOD 1 MINUTES)"
COLUMNS = ["sub-topology 0: over columns"]


def explained(query: str) -> Any:
    engine = SqlEngine()
    engine.execute(SOURCES)
    (result,) = engine.execute(f"EXPLAIN {query};")
    return result


@pytest.mark.parametrize(
    ("query", "does", "runs"),
    [
        (
            "CREATE STREAM o AS SELECT usr, page, `ms` * 2 AS twice FROM clicks WHERE `ms` > 5",
            [CLICKS, "WHERE CLICKS.`ms` > 5", "SELECT PAGE, CLICKS.`ms` * 2 AS TWICE"],
            COLUMNS,
        ),
        (
            """CREATE TABLE o AS SELECT usr, SUM(`ms`) AS total FROM clicks
               WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 MINUTE) GROUP BY usr
               HAVING COUNT(*) > 1""",
            [
                CLICKS,
                f"{FOLDS} GROUP BY CLICKS.USR {WINDOW}",
                "HAVING KSQL_AGG_VARIABLE_1 > 1",
                "SELECT KSQL_AGG_VARIABLE_0 AS TOTAL",
            ],
            COLUMNS,
        ),
        (
            """CREATE TABLE o AS SELECT word, COUNT(*) AS n
               FROM (SELECT usr, EXPLODE(SPLIT(page, '/')) AS word FROM clicks) words
               GROUP BY word""",
            [
                CLICKS,
                "EXPLODE(SPLIT(CLICKS.PAGE, '/')) AS KSQL_SYNTH_0",
                "SELECT KSQL_SYNTH_0 AS WORD",
                "the rows of an inner query",
                "COUNT(*) AS KSQL_AGG_VARIABLE_0 GROUP BY WORDS.WORD through a repartition topic",
                "SELECT KSQL_AGG_VARIABLE_0 AS N",
            ],
            [*COLUMNS, "sub-topology 1: over columns"],
        ),
        (
            "SELECT page, name FROM clicks JOIN users ON usr = id EMIT CHANGES",
            [
                CLICKS,
                "TABLE USERS, topic 'users-in', KAFKA key, DELIMITED value",
                "INNER JOIN ON equal keys",
                "SELECT PAGE, NAME",
            ],
            COLUMNS,
        ),
        (
            """CREATE STREAM o AS SELECT a.usr AS usr, a.page AS one, b.page AS other
               FROM clicks a JOIN views b WITHIN 5 SECONDS ON a.usr = b.usr""",
            [
                CLICKS,
                "STREAM VIEWS, topic 'views-in', KAFKA key, JSON value",
                "INNER JOIN ON equal keys WITHIN 5 SECONDS",
                "SELECT A.PAGE AS ONE, B.PAGE AS OTHER",
            ],
            COLUMNS,
        ),
        (
            """CREATE TABLE o AS SELECT usr, COUNT(*) AS n FROM clicks
               WINDOW SESSION (10 SECONDS) GROUP BY usr""",
            [
                CLICKS,
                "COUNT(*) AS KSQL_AGG_VARIABLE_0 GROUP BY CLICKS.USR WINDOW SESSION (10 SECONDS)",
                "SELECT KSQL_AGG_VARIABLE_0 AS N",
            ],
            COLUMNS,
        ),
        (
            "CREATE TABLE o AS SELECT usr, COUNT(DISTINCT page) AS n FROM clicks GROUP BY usr",
            [
                CLICKS,
                "COUNT(DISTINCT CLICKS.PAGE) AS KSQL_AGG_VARIABLE_0 GROUP BY CLICKS.USR",
                "SELECT KSQL_AGG_VARIABLE_0 AS N",
            ],
            None,
        ),
        (
            "CREATE STREAM o AS SELECT * FROM clicks PARTITION BY page",
            [CLICKS, "PARTITION BY CLICKS.PAGE", "SELECT `ms`, USR"],
            COLUMNS,
        ),
    ],
    ids=["filter", "window", "words", "join", "stream join", "session", "distinct", "partition by"],
)
def test_steps_say_what_they_do(query: str, does: list[str], runs: list[str] | None) -> None:
    """In the words of the query; and each part runs over columns or says why not."""
    result = explained(query)
    assert result.columns == ("step", "kind", "does", "columns")
    assert sorted(row[2] for row in result.rows) == sorted(does)
    found = result.details["runs"]
    if runs is None:
        assert any("record by record (" in line for line in found)
    else:
        assert found == runs


def test_explanation_names_what_is_read_and_written() -> None:
    """Topics and formats of both ends, and the operators between them."""
    result = explained("CREATE STREAM o WITH (KAFKA_TOPIC='out') AS SELECT usr, page FROM clicks")
    assert result.details["writes"] == "STREAM O, topic 'out', KAFKA key, JSON value"
    assert result.rows[0][3] == "PAGE STRING, ms BIGINT, USR STRING"
    topology = result.details["topology"]
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [clicks-in])" in topology
    assert "Sink: KSTREAM-SINK-0000000002 (topic: out)" in topology


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ROWTIME, page FROM clicks EMIT CHANGES",
        "SELECT ROWPARTITION, ROWOFFSET FROM clicks WHERE ROWTIME > 5 EMIT CHANGES",
        "CREATE TABLE o AS SELECT usr, MAX(ROWTIME) AS newest FROM clicks GROUP BY usr",
    ],
)
def test_pseudo_columns_run_over_columns(query: str) -> None:
    """Time and place of a record are columns of a batch as well."""
    assert explained(query).details["runs"] == COLUMNS


def test_reason_to_go_record_by_record_names_its_operator() -> None:
    """The distinct values of a group are looked up in a store, one after the other."""
    query = "CREATE TABLE o AS SELECT usr, COUNT(DISTINCT page) AS n FROM clicks"
    runs = explained(f"{query} GROUP BY usr").details["runs"]
    assert runs[0].startswith("sub-topology 0: record by record (")
    assert "Aggregate" in runs[0]


@pytest.mark.parametrize(
    ("query", "warned"),
    [
        ("SELECT usr, COLLECT_LIST(page) AS p FROM clicks GROUP BY usr", ["up to 1000 values"]),
        ("SELECT usr, STRING_AGG(page, ',') AS p FROM clicks GROUP BY usr", ["all values"]),
        ("SELECT usr, ATTR(page) AS p FROM clicks GROUP BY usr", ["all values"]),
        ("SELECT usr, TOPK(`ms`, 200) AS p FROM clicks GROUP BY usr", ["up to 200 values"]),
        ("SELECT usr, LATEST_BY_OFFSET(page, 5) AS p, COUNT(*) FROM clicks GROUP BY usr", []),
        ("SELECT usr, COUNT(DISTINCT page) AS n FROM clicks GROUP BY usr", []),
        ("SELECT name, COUNT(DISTINCT id) AS n, MIN(id) AS m FROM users GROUP BY name", []),
        ("SELECT name, ATTR(DISTINCT id) AS n FROM users GROUP BY name", ["all values"]),
        (
            "SELECT usr, COUNT(DISTINCT page) n FROM clicks WINDOW SESSION (1 HOUR) GROUP BY usr",
            ["all values"],
        ),
    ],
)
def test_aggregates_that_keep_many_values_in_one_row_are_named(
    query: str, warned: list[str]
) -> None:
    """Who reads the plan knows before the row of a group is too large."""
    warnings = explained(f"CREATE TABLE o WITH (VALUE_FORMAT='JSON') AS {query}").details[
        "warnings"
    ]
    assert len(warnings) == len(warned)
    for warning, text in zip(warnings, warned, strict=True):
        assert text in warning
        assert warning.partition("(")[0] in query
