"""Aggregates over distinct values: exact, and with a row per value, whatever a group has.

Exercises ``lowering.distinct_values``, ``lowering.value_bytes``, ``aggregates.distinct`` and
``processor.store_fold``.
"""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StreamsError
from penstock.sql.planner.lowering.value_bytes import value_encoder
from tests.unit.sql.kit import sql_type
from tests.unit.sql.queries import Script, running

STREAM = (
    "CREATE STREAM s (id INT KEY, g VARCHAR, x INT, y INT)"
    " WITH (KAFKA_TOPIC='s', KEY_FORMAT='JSON', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
TABLE = STREAM.replace("STREAM s (id INT KEY", "TABLE s (id INT PRIMARY KEY")
CALLS = (
    "COUNT(DISTINCT x) AS n, SUM(DISTINCT x) AS total, AVG(DISTINCT x) AS average, MIN(x) AS low,"
    " MAX(x) AS high, COUNT(*) AS every, COUNT(DISTINCT y) AS other, COUNT_DISTINCT(x) AS about,"
    " APPROX_COUNT_DISTINCT(x) AS like_it"
)
#: The groups, the values and the times are few, so that values repeat and windows are shared.
VALUES = st.sampled_from([None, -3, 0, 1, 2, 7])
RECORDS = st.lists(
    st.tuples(st.sampled_from("ab"), VALUES, VALUES, st.integers(0, 60)), min_size=1, max_size=40
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 5), st.none() | st.tuples(st.sampled_from("ab"), VALUES, VALUES)),
    min_size=1,
    max_size=40,
)


def expected(rows: list[tuple[Any, Any]]) -> dict[str, Any]:
    """What the calls return for the pairs (x, y) of a group's rows."""
    known = {x for x, _ in rows if x is not None}
    return {
        "N": len(known),
        "TOTAL": sum(known),
        "AVERAGE": float(Fraction(sum(known), len(known))) if known else 0.0,
        "LOW": min(known, default=None),
        "HIGH": max(known, default=None),
        "EVERY": len(rows),
        "OTHER": len({y for _, y in rows if y is not None}),
        "ABOUT": len(known),
        "LIKE_IT": len(known),
    }


@given(records=RECORDS)
@settings(max_examples=60)
def test_each_result_over_a_stream_is_that_of_its_rows_so_far(records: list[Any]) -> None:
    """NULLs are left out; calls of one argument and of another share a group."""
    so_far: dict[str, list[Any]] = {"a": [], "b": []}
    with running(STREAM, f"CREATE TABLE t AS SELECT g, {CALLS} FROM s GROUP BY g;") as script:
        for g, x, y, time in records:
            script.pipe("s", 1, {"g": g, "x": x, "y": y}, time)
            so_far[g].append((x, y))
            assert script.read("T")[-1] == (g, expected(so_far[g]))


def tumbling(time: int) -> Iterator[int]:
    yield time // 10 * 10


def hopping(time: int) -> Iterator[int]:
    return (start for start in range(0, time + 1, 5) if start + 20 > time)


@pytest.mark.parametrize(
    ("window", "starts", "size"),
    [
        ("TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 15 MILLISECONDS)", tumbling, 10),
        ("HOPPING (SIZE 20 MILLISECONDS, ADVANCE BY 5 MILLISECONDS, GRACE PERIOD 15 MILLISECONDS)",
         hopping, 20),
    ],
)  # fmt: skip
@given(records=RECORDS)
@settings(max_examples=40)
def test_a_window_has_its_own_values(
    window: str, starts: Callable[[int], Iterator[int]], size: int, records: list[Any]
) -> None:
    """A value counts once in each window, and a late one in those that are open."""
    create = (
        f"CREATE TABLE t AS SELECT g, WINDOWSTART AS w, {CALLS} FROM s WINDOW {window} GROUP BY g;"
    )
    create = create.replace("WINDOWSTART AS w, ", "AS_VALUE(WINDOWSTART) AS w, ")
    rows: dict[tuple[str, int], list[Any]] = {}
    wanted: list[Any] = []
    newest = 0
    with running(STREAM, create) as script:
        for g, x, y, time in records:
            script.pipe("s", 1, {"g": g, "x": x, "y": y}, time)
            newest = max(newest, time)
            for start in starts(time):
                if start + size + 15 > newest:
                    group = rows.setdefault((g, start), [])
                    group.append((x, y))
                    wanted.append((g, {"W": start, **expected(group)}))
        got = [json.loads(r.value) for r in script.queries.produced if r.topic == "T" and r.value]
        assert got == [row for _, row in wanted]


@given(changes=CHANGES)
@settings(max_examples=80)
def test_a_table_takes_its_old_rows_back(changes: list[Any]) -> None:
    """A value goes with the last of its rows; then MIN and MAX are those of the others."""
    table: dict[int, Any] = {}
    with running(TABLE, f"CREATE TABLE t AS SELECT g, {CALLS} FROM s GROUP BY g;") as script:
        for key, row in changes:
            value = None if row is None else dict(zip("gxy", row, strict=True))
            script.pipe("s", key, value)
            before, table[key] = table.get(key), row
            touched = {each[0] for each in (before, row) if each is not None}
            results = dict(script.read("T"))
            for g in touched:
                group = [(r[1], r[2]) for r in table.values() if r is not None and r[0] == g]
                assert results[g] == expected(group)


def test_sessions_keep_their_values_in_one_row() -> None:
    """Two sessions become one, and a value of both counts once."""
    create = (
        "CREATE TABLE t AS SELECT g, COUNT(DISTINCT x) AS n FROM s"
        " WINDOW SESSION (10 MILLISECONDS) GROUP BY g;"
    )
    with running(STREAM, create) as script:
        for x, time in [(1, 0), (2, 1), (1, 15), (3, 16), (4, 9)]:
            script.pipe("s", 1, {"g": "a", "x": x, "y": 0}, time)
        known = [r.value for r in script.queries.produced if r.topic == "T" and r.value]
        assert json.loads(known[-1]) == {"N": 4}


def values_of(script: Script) -> list[Any]:
    """Return the rows of the store of distinct values of the only query."""
    (query,) = script.queries.queries
    (name,) = (name for name in query.stores if name.endswith("-Values"))
    return [*query.stores[name].all()]


def test_a_value_is_a_row_and_the_group_has_their_number() -> None:
    """A value that comes again adds no row."""
    create = "CREATE TABLE t AS SELECT g, COUNT(DISTINCT x) AS n FROM s GROUP BY g;"
    with running(STREAM, create) as script:
        for x in [*range(50), *range(50)]:
            script.pipe("s", 1, {"g": "a", "x": x, "y": 0})
        assert len(values_of(script)) == 50
        assert script.read("T")[-1] == ("a", {"N": 50})


def test_an_error_in_one_aggregate_leaves_no_value_behind() -> None:
    """The sum does not fit, so the value of its row is not known either."""
    create = (
        "CREATE TABLE t AS SELECT g, COUNT(DISTINCT x) AS n, SUM(y) AS total FROM s GROUP BY g;"
    )
    with running(STREAM, create) as script:
        script.pipe("s", 1, {"g": "a", "x": 1, "y": 2**31 - 1})
        with pytest.raises(StreamsError, match="does not fit"):
            script.pipe("s", 1, {"g": "a", "x": 2, "y": 1})
        assert len(values_of(script)) == 1


SAME = [
    ("DOUBLE", 0.0, -0.0),
    ("DOUBLE", float("nan"), -float("nan")),
    ("MAP<STRING, INT>", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("STRUCT<A INT, B STRING>", {"A": 1, "B": None}, {"B": None, "A": 1}),
]
DIFFERENT = [
    ("DECIMAL(38,1)", Decimal("1234567890123456789012345678901234567.1"),
     Decimal("1234567890123456789012345678901234567.2")),
    ("ARRAY<STRING>", ["a", "b"], ["ab"]),
    ("ARRAY<INT>", [None], []),
    ("BYTES", b"a\x00", b"a"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "one", "other"), SAME)
def test_equal_values_have_equal_bytes(type_: str, one: Any, other: Any) -> None:
    """Whatever the order of a map, and the sign of a zero."""
    encode = value_encoder(sql_type(type_))
    assert encode(one) == encode(other)


@pytest.mark.parametrize(("type_", "one", "other"), DIFFERENT)
def test_different_values_have_different_bytes(type_: str, one: Any, other: Any) -> None:
    """The last digit of a long DECIMAL counts, and where an element ends."""
    encode = value_encoder(sql_type(type_))
    assert encode(one) != encode(other)


@given(
    one=st.lists(st.none() | st.text(max_size=3)), other=st.lists(st.none() | st.text(max_size=3))
)
def test_arrays_have_equal_bytes_exactly_if_they_are_equal(one: Any, other: Any) -> None:
    """No text can look like the end of another one."""
    encode = value_encoder(sql_type("ARRAY<STRING>"))
    assert (encode(one) == encode(other)) == (one == other)
