"""CREATE STREAM and CREATE TABLE: properties, columns, windows, headers and schemas.

Exercises ``catalog.ddl``, ``catalog.properties`` and ``schema_inference``.
"""

import json
from typing import Any

import pytest

from penstock.registry.registry import MemoryRegistry, Schema
from penstock.sql import SqlEngine
from tests.unit.sql.queries import ORDERS, columns_of, engine_of, refusal, running


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("CREATE STREAM s (a INT) WITH (VALUE_FORMAT='JSON');", "missing-property"),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s');", "missing-property"),
        (
            "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', COLOUR='red');",
            "unknown-property",
        ),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='XML');", "unknown-format"),
        (
            "CREATE TABLE t (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');",
            "missing-primary-key",
        ),
        (
            "CREATE STREAM s (a INT PRIMARY KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "wrong-constraint",
        ),
        (
            "CREATE STREAM s (a INT, a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "duplicate-column",
        ),
        (
            "CREATE STREAM s (rowtime INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "reserved-name",
        ),
        (
            "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', TIMESTAMP='b');",
            "unknown-timestamp",
        ),
        (
            "CREATE STREAM s (a DATE) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', TIMESTAMP='a');",
            "timestamp-type",
        ),
        (
            "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON', WINDOW_TYPE='HOPPING');",
            "bad-property",
        ),
        (
            "CREATE STREAM s (h INT HEADERS) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "header-type",
        ),
        (
            "CREATE OR REPLACE SOURCE STREAM s (a INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON');",
            "replace-source",
        ),
    ],
)
def test_source_that_cannot_be_is_refused(statement: str, code: str) -> None:
    """Each refusal has its own code and a place in the text."""
    error = refusal(statement)
    assert error.code == code
    assert error.line == 1


def test_windowed_keys_are_read_with_their_bounds() -> None:
    """WINDOWSTART and WINDOWEND are columns of a source with windowed keys."""
    stream = (
        "CREATE STREAM w (k VARCHAR KEY, n INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON',"
        " WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS');"
    )
    select = "SELECT k, windowstart AS a, windowend AS b, n FROM w"
    with running(stream, f"CREATE STREAM x AS {select};") as script:
        script.queries.pipe("w", b"key" + (20_000).to_bytes(8, "big"), b'{"n":1}', 0)
        (record,) = script.queries.produced
        assert record.value == b'{"A":20000,"B":30000,"N":1}'
        assert record.key == b"key" + (20_000).to_bytes(8, "big")


WINDOWED = (
    "CREATE TABLE counts AS SELECT item, COUNT(*) AS n FROM orders"
    " WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY item;"
)
SALES = ((1, "fig"), (2, "nut"), (3, "fig"), (12, "fig"), (4, "nut"))


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        (
            "SELECT item, n * 10 AS n FROM counts WHERE n > 1",
            {("fig", 0): {"N": 20}, ("nut", 0): {"N": 20}},
        ),
        (
            "SELECT a.item, a.n, b.n AS m FROM counts a LEFT JOIN counts b ON a.item = b.item",
            {
                ("fig", 0): {"A_N": 2, "M": 2},
                ("nut", 0): {"A_N": 2, "M": 2},
                ("fig", 10): {"A_N": 1, "M": 1},
            },
        ),
    ],
)
def test_query_of_a_windowed_table_keeps_its_windows(
    select: str, rows: dict[tuple[str, int], object]
) -> None:
    """Filters, columns and joins of windowed tables work as those of others."""
    with running(ORDERS, WINDOWED, f"CREATE TABLE t AS {select};") as script:
        for time, item in SALES:
            script.pipe("orders", 1, {"item": item}, time)
        found = {}
        for record in script.queries.produced:
            if record.topic == "T":
                key = record.key or b""
                name = json.loads(key[:-8]), int.from_bytes(key[-8:], "big")
                found[name] = json.loads(record.value or b"null")
    assert {key: value for key, value in found.items() if value is not None} == rows


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        (
            "SELECT WINDOWSTART AS w, MAX(n) AS most, SUM(n) AS s FROM counts GROUP BY WINDOWSTART",
            {0: {"MOST": 2, "S": 4}, 10: {"MOST": 1, "S": 1}},
        ),
        (
            "SELECT item, SUM(n) AS n FROM counts GROUP BY item",
            {"fig": {"N": 3}, "nut": {"N": 2}},
        ),
    ],
)
def test_groups_over_a_windowed_table_follow_its_changes(
    select: str, rows: dict[object, object]
) -> None:
    """A window whose count grows is taken out of its group before it is added again."""
    with running(ORDERS, WINDOWED, f"CREATE TABLE t AS {select};") as script:
        for time, item in SALES:
            script.pipe("orders", 1, {"item": item}, time)
        assert dict(script.read("T")) == rows


def test_headers_are_columns() -> None:
    """All of them as an array, or one by its key."""
    stream = "CREATE STREAM h (a INT, one BYTES HEADER('x')) WITH (KAFKA_TOPIC='h', FORMAT='JSON');"
    select = "SELECT a, FROM_BYTES(one, 'utf8') AS x FROM h"
    with running(stream, f"CREATE STREAM o AS {select};") as script:
        script.queries.pipe("h", None, b'{"a":1}', 0, (("x", b"old"), ("x", b"new"), ("y", b"z")))
        script.queries.pipe("h", None, b'{"a":2}', 0)
        assert [value for _, value in script.read("O")] == [
            {"A": 1, "X": "new"},
            {"A": 2, "X": None},
        ]


def test_stream_without_columns_takes_those_of_its_schema() -> None:
    """Names become upper case; a key declared in the statement stays."""
    registry = MemoryRegistry()
    fields = '[{"name": "age", "type": "int"}, {"name": "city", "type": "string"}]'
    text = f'{{"type": "record", "name": "person", "fields": {fields}}}'
    registry.register("people-value", Schema("AVRO", text))
    engine = SqlEngine(registry=registry)
    engine.execute("CREATE STREAM p (id INT KEY) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='AVRO');")
    assert columns_of(engine, "P") == "ID INTEGER KEY, AGE INTEGER, CITY STRING"


def test_result_registers_its_schema_when_the_script_is_accepted() -> None:
    """A refused script leaves nothing in the registry."""
    stream = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');"
    engine = engine_of(stream)
    assert engine.registry.subjects() == ["s-value"]
    bad = "CREATE STREAM t AS SELECT * FROM s; CREATE STREAM u AS SELECT b FROM s;"
    with pytest.raises(Exception, match="cannot be resolved"):
        engine.execute(bad)
    assert engine.registry.subjects() == ["s-value"]
    engine.execute("CREATE STREAM t AS SELECT * FROM s;")
    assert engine.registry.subjects() == ["T-value", "s-value"]


def test_read_only_stream_takes_no_rows() -> None:
    """CREATE SOURCE STREAM can be read, not written."""
    stream = "CREATE SOURCE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    assert refusal(stream, "INSERT INTO s VALUES (1);").code == "cannot-insert"
    assert refusal(stream, "INSERT INTO s SELECT * FROM s;").code == "cannot-insert"


def test_schemas_of_keys_inside_a_query_are_registered_before_it_runs() -> None:
    """Workers that each registered them would give them different ids."""
    stream = "CREATE STREAM s (a INT KEY, b INT) WITH (KAFKA_TOPIC='s', FORMAT='AVRO');"
    engine = engine_of(stream, "CREATE TABLE t AS SELECT b, COUNT(*) AS n FROM s GROUP BY b;")
    assert "CTAS_T_0-Aggregate-key" in engine.registry.subjects()


PLAIN = (
    "CREATE STREAM s (id VARCHAR KEY, a INT{more}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON'{w});"
)
HEADERS = ", h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS"
WINDOW = ", WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS'"


def written(source: str, select: str, *, over_columns: bool) -> tuple[list[Any], list[Any]]:
    """What a query writes, and why batches did not run over columns."""
    engine = SqlEngine()
    engine.execute(f"{source} CREATE STREAM o AS {select};")
    with engine.local(over_columns=over_columns) as queries:
        for n in range(5):
            window = (10_000 * n).to_bytes(8, "big") if "WINDOW_TYPE" in source else b""
            headers = (("x", b"%d" % n), ("y", None)) if n % 2 else ()
            value = None if n == 3 else b'{"A": %d}' % n
            queries.pipe("s", b"k%d" % n + window, value, 1000 * n, headers)
        return queries.produced, [b.why_not for q in queries.queries for b in q.batches]


@pytest.mark.parametrize(
    ("more", "w", "select"),
    [
        ("", "", "SELECT id, a, ROWTIME AS t, ROWPARTITION AS p, ROWOFFSET AS o FROM s"),
        ("", "", "SELECT id, a FROM s WHERE ROWTIME > 1000"),
        (HEADERS, "", "SELECT id, a, h FROM s"),
        (", h BYTES HEADER('x')", "", "SELECT id, a, h FROM s WHERE h IS NOT NULL"),
        ("", WINDOW, "SELECT id, a, WINDOWSTART AS ws, WINDOWEND AS we, ROWTIME AS t FROM s"),
        ("", "", "SELECT x.id, x.a, x.ROWTIME AS t FROM (SELECT id, a FROM s WHERE a > 1) AS x"),
    ],
)
def test_time_place_and_headers_are_columns(more: str, w: str, select: str) -> None:
    """Over columns a record's time, partition, offset, headers and window are the same."""
    source = PLAIN.format(more=more, w=w)
    expected, _ = written(source, select, over_columns=False)
    found, reasons = written(source, select, over_columns=True)
    assert found == expected != []
    assert set(reasons) == {None}
