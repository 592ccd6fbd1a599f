"""SQL over columns or record at a time: the same output, the same changelogs, the same stores.

Exercises ``lowering.pending``.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given

from penstock.sql import SqlEngine
from penstock.topology.graph import Graph
from tests.properties.column_runs import (
    CONFIGS,
    EVENTS,
    ODD_EVENTS,
    SIZES,
    Event,
    assert_same,
    grid_events,
    run_graph,
)
from tests.properties.runs import FEW, SOME

SOURCES = """
CREATE STREAM i (k VARCHAR KEY, n DOUBLE, s VARCHAR)
    WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM whole (k VARCHAR KEY, n INTEGER, s VARCHAR)
    WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM lines (k VARCHAR KEY, line VARCHAR)
    WITH (KAFKA_TOPIC='in', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='TAB', PARTITIONS=1);
CREATE STREAM cells (k VARCHAR KEY, first VARCHAR, second VARCHAR)
    WITH (KAFKA_TOPIC='in', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE STREAM headed (k VARCHAR KEY, n DOUBLE, whole ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
    WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE t (k VARCHAR PRIMARY KEY, n DOUBLE, s VARCHAR)
    WITH (KAFKA_TOPIC='table', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
OUT = "WITH (KAFKA_TOPIC='out', VALUE_FORMAT='JSON')"
DELIMITED = "WITH (KAFKA_TOPIC='out', VALUE_FORMAT='DELIMITED')"
QUERIES = {
    "stateless": f"""CREATE STREAM o {OUT} AS
        SELECT k, n * 2 AS m, CASE WHEN n > 3 THEN 'many' ELSE s END AS size FROM i WHERE n > 0""",
    "times": f"""CREATE STREAM o {OUT} AS
        SELECT k, ROWTIME AS at, ROWOFFSET AS place, ROWPARTITION AS part, n FROM i
        WHERE ROWTIME > 20000""",
    "headers": f"CREATE STREAM o {OUT} AS SELECT k, whole, ROWTIME AS at, n FROM headed",
    "newest": f"""CREATE TABLE o {OUT} AS
        SELECT s, MAX(ROWTIME) AS newest, COUNT(*) AS c FROM i GROUP BY s""",
    "inner_times": f"""CREATE STREAM o {OUT} AS
        SELECT x.k AS k, x.n AS n, x.ROWTIME AS at, x.ROWOFFSET AS place
        FROM (SELECT k, n FROM i WHERE n > 1) x""",
    "rekeyed": f"CREATE STREAM o {OUT} AS SELECT s, k, n FROM i PARTITION BY s",
    "counts": f"CREATE TABLE o {OUT} AS SELECT k, COUNT(*) AS c, COUNT(n) AS d FROM i GROUP BY k",
    "unread": f"CREATE TABLE o {DELIMITED} AS SELECT k, COUNT(*) AS c FROM i GROUP BY k",
    "sums": f"""CREATE TABLE o {OUT} AS
        SELECT k, SUM(n) AS total, AVG(n) AS mean, MIN(s) AS least, COLLECT_LIST(n) AS seen
        FROM i GROUP BY k""",
    "distinct": f"""CREATE TABLE o {OUT} AS
        SELECT k, COUNT(DISTINCT s) AS kinds, SUM(DISTINCT n) AS total, MIN(s) AS least
        FROM i GROUP BY k""",
    "distinct_windows": f"""CREATE TABLE o {OUT} AS
        SELECT s, COUNT(DISTINCT n) AS kinds, COUNT(*) AS c FROM i
        WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS, GRACE PERIOD 10 SECONDS)
        GROUP BY s""",
    "distinct_rows": f"""CREATE TABLE o {OUT} AS
        SELECT s, COUNT(DISTINCT n) AS kinds, MAX(n) AS most FROM t GROUP BY s""",
    "spans": f"""CREATE TABLE o {OUT} AS
        SELECT k, COUNT(*) AS c, MAX(n) - MIN(n) AS span FROM i GROUP BY k""",
    "averages": f"""CREATE TABLE o {DELIMITED} AS
        SELECT s, AVG(n) AS mean, MAX(n) AS most, SUM(n) AS total, COUNT(k) AS c
        FROM i WHERE n > -2 GROUP BY s""",
    "expressions": """CREATE TABLE o WITH (KAFKA_TOPIC='out', FORMAT='JSON') AS
        SELECT s + '!' AS t, n * 2 AS m, COUNT(*) AS c, MIN(k) AS least
        FROM i GROUP BY s + '!', n * 2""",
    "whole": f"""CREATE TABLE o {OUT} AS
        SELECT k, SUM(n * 300000000) AS total, AVG(n) AS mean, COLLECT_SET(s) AS kinds
        FROM whole GROUP BY k""",
    "lines": f"""CREATE TABLE o {DELIMITED} AS
        SELECT word, COUNT(*) AS c
        FROM (SELECT k, EXPLODE(SPLIT(line, ':')) AS word FROM lines) x GROUP BY word""",
    "cells": f"""CREATE STREAM o {DELIMITED} AS
        SELECT k, second, LEN(first) AS size, first FROM cells WHERE LEN(second) > 0""",
    "window_averages": f"""CREATE TABLE o {OUT} AS
        SELECT k, AVG(n) AS mean, MIN(s) AS least, WINDOWSTART AS since, COUNT(*) AS c FROM i
        WINDOW TUMBLING (SIZE 30 SECONDS, GRACE PERIOD 10 SECONDS)
        WHERE n > -2 GROUP BY k""",
    "repartitioned": f"""CREATE TABLE o {OUT} AS
        SELECT w, COUNT(*) AS c FROM (SELECT k, EXPLODE(SPLIT(s, 'b')) AS w FROM i) x GROUP BY w""",
    "windows": f"""CREATE TABLE o {OUT} AS
        SELECT k, SUM(n) AS total FROM i
        WINDOW TUMBLING (SIZE 30 SECONDS, GRACE PERIOD 10 SECONDS) GROUP BY k""",
    "hopping": f"""CREATE TABLE o {OUT} AS
        SELECT k, COUNT(*) AS c FROM i
        WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS, GRACE PERIOD 10 SECONDS)
        GROUP BY k""",
    "sessions": f"""CREATE TABLE o {OUT} AS
        SELECT k, SUM(n) AS total, COUNT(*) AS c, MIN(s) AS least, WINDOWEND AS till FROM i
        WINDOW SESSION (10 SECONDS, GRACE PERIOD 5 SECONDS) GROUP BY k HAVING COUNT(*) > 1""",
    "joined": f"""CREATE STREAM o {OUT} AS
        SELECT i.k AS k, i.n AS one, t.n AS other FROM i JOIN t ON i.k = t.k""",
    "left_joined": f"""CREATE STREAM o {OUT} AS
        SELECT i.k AS k, i.n AS one, t.s AS other FROM i LEFT JOIN t ON i.k = t.k""",
}
#: Queries whose sums do not fit their type for long.
OVERFLOWING = ("whole",)
#: Queries that look at a row of a store for each value, one after the other.
BY_RECORD = frozenset({"distinct", "distinct_windows", "distinct_rows"})


@cache
def graph_of(name: str) -> Graph:
    engine = SqlEngine()
    engine.execute(f"{SOURCES}{QUERIES[name]};")
    return engine.topology().graph


@pytest.mark.parametrize("name", QUERIES)
@SOME
@given(events=EVENTS, sizes=SIZES, config=CONFIGS)
def test_columns_change_nothing(
    name: str, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Whatever the records, however they are cut into batches, with a cache or without."""
    assert_same(graph_of(name), events, sizes, config, may_raise=name in OVERFLOWING)


@pytest.mark.parametrize("name", QUERIES)
@FEW
@given(events=ODD_EVENTS, sizes=SIZES, config=CONFIGS)
def test_odd_values_change_nothing(
    name: str, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Values that cannot be read are logged and left out, both ways."""
    assert_same(graph_of(name), events, sizes, config, may_raise=True)


@pytest.mark.parametrize("name", QUERIES)
def test_large_batches_change_nothing(name: str) -> None:
    """Batches as large as those of production."""
    events = grid_events(Random(name), 700, slowness=30)
    config = {"partitions": 1, "slots": 1, "cache": 10_000_000}
    may_raise = name in OVERFLOWING
    outcome = assert_same(graph_of(name), events, [330, 360, 10], config, may_raise=may_raise)
    assert outcome.vectorised > 0 or may_raise or name in BY_RECORD


@pytest.mark.parametrize("name", QUERIES.keys() - BY_RECORD)
def test_these_queries_do_run_over_columns(name: str) -> None:
    """The property would hold of itself if none of them did."""
    events = [Event("in", b"k1", b'{"n":1,"s":"a"}', n) for n in range(3)]
    config = {"partitions": 1, "slots": 1, "cache": 10_000_000}
    assert run_graph(graph_of(name), events, [3], config, "strict").vectorised > 0
