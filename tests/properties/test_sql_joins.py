"""Joins of SQL tables, with changes and deletions in any order, against a recomputation."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql import SqlEngine
from tests.properties.runs import SOME

Row = dict[str, Any]
Rows = dict[Any, Row]

TABLES = """
    CREATE TABLE a (x INT PRIMARY KEY, y INT PRIMARY KEY, v INT, w INT)
        WITH (KAFKA_TOPIC='a', FORMAT='JSON', PARTITIONS=1);
    CREATE TABLE b (p INT PRIMARY KEY, q INT PRIMARY KEY, u INT)
        WITH (KAFKA_TOPIC='b', FORMAT='JSON', PARTITIONS=1);
    CREATE TABLE c (id INT PRIMARY KEY, t INT, parent INT)
        WITH (KAFKA_TOPIC='c', FORMAT='JSON', PARTITIONS=1);
"""
small = st.integers(0, 2)
maybe = st.none() | small
changes = st.lists(
    st.tuples(st.just("a"), st.tuples(small, maybe), st.none() | st.tuples(maybe, maybe))
    | st.tuples(st.just("b"), st.tuples(small, maybe), st.none() | st.tuples(maybe))
    | st.tuples(st.just("c"), st.tuples(small), st.none() | st.tuples(maybe, maybe)),
    max_size=20,
)
_KEYS = {"a": ("X", "Y"), "b": ("P", "Q"), "c": ("ID",)}
_VALUES = {"a": ("V", "W"), "b": ("U",), "c": ("T", "PARENT")}


def equal(*pairs: tuple[Any, Any]) -> bool:
    return all(one is not None and one == other for one, other in pairs)


def rows_of(name: str, table: Rows) -> list[Row]:
    return [dict(zip(_KEYS[name], key, strict=True)) | row for key, row in table.items()]


def inner(state: dict[str, Rows]) -> Iterable[Any]:
    for a in rows_of("a", state["a"]):
        for b in rows_of("b", state["b"]):
            if equal((a["X"], b["P"]), (a["Y"], b["Q"])):
                yield (a["X"], a["Y"]), (a["V"], b["U"])


def left(state: dict[str, Rows]) -> Iterable[Any]:
    found = dict(inner(state))
    for a in rows_of("a", state["a"]):
        key = (a["X"], a["Y"])
        yield key, found.get(key, (a["V"], None))


def foreign(state: dict[str, Rows]) -> Iterable[Any]:
    for a in rows_of("a", state["a"]):
        for b in rows_of("b", state["b"]):
            if equal((a["V"], b["P"]), (a["W"], b["Q"])):
                yield (a["X"], a["Y"]), (a["V"], b["U"])


def two_foreign(state: dict[str, Rows]) -> Iterable[Any]:
    for a in rows_of("a", state["a"]):
        first = state["c"].get((a["V"],))
        second = state["c"].get((a["W"],))
        if first is not None:
            yield (a["X"], a["Y"]), (first["T"], second and second["T"])


def parents(state: dict[str, Rows]) -> Iterable[Any]:
    for c in rows_of("c", state["c"]):
        parent = state["c"].get((c["PARENT"],))
        if parent is not None:
            yield (c["ID"],), (c["T"], parent["T"])


def counted(state: dict[str, Rows]) -> Iterable[Any]:
    counts = Counter(parent for _, (_, parent) in parents(state) if parent is not None)
    return (((group,), (count,)) for group, count in counts.items())


def members(state: dict[str, Rows]) -> Iterable[Any]:
    known = {c["T"] for c in rows_of("c", state["c"]) if (c["PARENT"] or 0) < 2}
    for a in rows_of("a", state["a"]):
        if a["V"] is not None and a["V"] in known:
            yield (a["X"], a["Y"]), (a["V"],)


def without(state: dict[str, Rows]) -> Iterable[Any]:
    # A NULL equals nothing, not even another NULL.
    known = {(c["ID"], c["T"]) for c in rows_of("c", state["c"]) if c["T"] is not None}
    ids = {key for (key,) in state["c"]}
    for a in rows_of("a", state["a"]):
        if (a["V"], a["W"]) not in known and (a["X"] in ids or a["W"] == 1):
            yield (a["X"], a["Y"]), (a["V"],)


def not_in(state: dict[str, Rows]) -> Iterable[Any]:
    ids = {key for (key,) in state["c"]}
    for a in rows_of("a", state["a"]):
        if a["V"] is not None and a["V"] not in ids:
            yield (a["X"], a["Y"]), (a["V"],)


QUERIES: list[tuple[str, Callable[[dict[str, Rows]], Iterable[Any]]]] = [
    ("SELECT x, y, v, u FROM a JOIN b ON x = p AND y = q", inner),
    ("SELECT x, y, v, u FROM a LEFT JOIN b ON y = q AND x = p", left),
    ("SELECT x, y, v, u FROM a JOIN b ON v = p AND w = q", foreign),
    (
        (
            "SELECT x, y, c1.t AS t1, c2.t AS t2 FROM a JOIN c c1 ON v = c1.id"
            " LEFT JOIN c c2 ON w = c2.id"
        ),
        two_foreign,
    ),
    ("SELECT c.id, c.t AS t, d.t AS td FROM c JOIN c d ON c.parent = d.id", parents),
    (
        (
            "SELECT td, COUNT(*) AS n FROM (SELECT c.id AS id, d.t AS td FROM c JOIN c d"
            " ON c.parent = d.id) q GROUP BY td HAVING n > 0"
        ),
        counted,
    ),
    (
        "SELECT x, y, v FROM a WHERE v IN (SELECT t FROM c WHERE COALESCE(parent, 0) < 2)",
        members,
    ),
    (
        (
            "SELECT x, y, v FROM a WHERE NOT EXISTS (SELECT 1 FROM c WHERE id = v AND t = w)"
            " AND (x IN (SELECT id FROM c) OR w = 1)"
        ),
        without,
    ),
    ("SELECT x, y, v FROM a WHERE v NOT IN (SELECT id FROM c)", not_in),
]


@pytest.mark.parametrize("over_columns", [False, True], ids=["records", "columns"])
@pytest.mark.parametrize(("query", "expected"), QUERIES, ids=[f.__name__ for _, f in QUERIES])
@SOME
@given(steps=changes)
def test_the_last_rows_are_those_of_a_recomputation(
    query: str, expected: Callable[..., Iterable[Any]], *, over_columns: bool, steps: list[Any]
) -> None:
    """After every change the table is what a join of the tables at that moment gives."""
    engine = SqlEngine()
    engine.execute(f"{TABLES} CREATE TABLE result AS {query};")
    state: dict[str, Rows] = {"a": {}, "b": {}, "c": {}}
    result: dict[Any, Any] = {}
    with engine.local(over_columns=over_columns) as queries:
        for time, (name, key, values) in enumerate(steps):
            row = None if values is None else dict(zip(_VALUES[name], values, strict=True))
            if row is None:
                state[name].pop(key, None)
            else:
                state[name][key] = row
            before = len(queries.produced)
            queries.pipe(name, _key(name, key), _bytes(row), time)
            for record in queries.produced[before:]:
                _apply(result, record.key, record.value)
            assert result == dict(expected(state))


def _key(name: str, key: tuple[Any, ...]) -> bytes:
    if len(key) == 1:
        return json.dumps(key[0]).encode()
    return json.dumps(dict(zip(_KEYS[name], key, strict=True))).encode()


def _bytes(row: Row | None) -> bytes | None:
    return None if row is None else json.dumps(row).encode()


def _apply(result: dict[Any, Any], key: bytes | None, value: bytes | None) -> None:
    assert key is not None
    found = json.loads(key)
    plain = tuple(found.values()) if isinstance(found, dict) else (found,)
    if value is None:
        result.pop(plain, None)
    else:
        result[plain] = tuple(json.loads(value).values())
