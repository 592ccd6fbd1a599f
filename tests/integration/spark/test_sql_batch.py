"""The queries of an SQL script over DataFrames.

Exercises ``penstock.sql.queries.batch``, ``penstock.sql.queries.batch_rows``,
``penstock.runtime.spark.history.chain``, ``penstock.runtime.spark.history.typed_rows``,
``penstock.runtime.spark.history.outputs`` and ``penstock.cli.sql.batch``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import BatchInput
from penstock.cli.main import app
from penstock.errors import PenstockError
from penstock.runtime.spark.history.errors import as_raised
from penstock.sql import SqlEngine
from tests.integration.spark.versions import needs_spark

pytestmark = [pytest.mark.spark, needs_spark("4.1", "run_batch")]

SCRIPT = """
CREATE STREAM orders (user VARCHAR KEY, product VARCHAR, amount DOUBLE)
    WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM refunds (user VARCHAR KEY, amount DOUBLE)
    WITH (KAFKA_TOPIC='refunds', VALUE_FORMAT='DELIMITED', PARTITIONS=2);
CREATE TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR)
    WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM moves AS SELECT user, amount FROM orders WHERE amount > 0;
INSERT INTO moves SELECT user, 0 - amount AS amount FROM refunds;
CREATE STREAM named AS
    SELECT m.user AS user, u.name AS name, m.amount AS amount
    FROM moves m LEFT JOIN users u ON m.user = u.id;
CREATE TABLE balances AS SELECT name, SUM(amount) AS total, COUNT(*) AS n FROM named GROUP BY name;
CREATE TABLE minutes AS
    SELECT user, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY user;
CREATE TABLE large AS SELECT name, total FROM balances WHERE total > 100;
INSERT INTO users (ROWTIME, id, name) VALUES (0, 'u1', 'ann');
INSERT INTO users (ROWTIME, id, name) VALUES (60000, 'u2', 'bob');
"""
ORDERS = [(f"u{n % 5}", f"p{n % 3}", float(n % 17), 1_000 + n * 3_000) for n in range(120)]
REFUNDS = [(f"u{n % 5}", float(n % 4), 2_500 + n * 30_000) for n in range(12)]


@pytest.fixture
def engine() -> SqlEngine:
    made = SqlEngine()
    made.execute(SCRIPT)
    return made


@pytest.fixture
def inputs(spark: Any) -> dict[str, Any]:
    orders = spark.createDataFrame(ORDERS, "user string, product string, amount double, at bigint")
    refunds = spark.createDataFrame(REFUNDS, "user string, amount double, rowtime bigint")
    return {"orders": BatchInput(orders, timestamp="at"), "REFUNDS": refunds}


def piped() -> Any:
    """The same rows one after the other, in order of time."""
    engine = SqlEngine()
    engine.execute(SCRIPT)
    rows = [
        (time, "orders", user, {"PRODUCT": product, "AMOUNT": amount})
        for user, product, amount, time in ORDERS
    ]
    rows += [(time, "refunds", user, amount) for user, amount, time in REFUNDS]
    inserted, engine.outbox = engine.outbox, []
    rows += [(r.timestamp, "users", r.key, r.value) for r in inserted]
    queries = engine.local()
    for time, topic, key, value in sorted(rows, key=lambda row: row[0]):
        data = value if topic == "users" else json.dumps(value).encode()
        name = key if topic == "users" else key.encode()
        queries.pipe(topic, name, data, time)
    return engine, queries


def newest(queries: Any, topic: str) -> dict[bytes, Any]:
    found: dict[bytes, Any] = {}
    for record in queries.records(topic):
        found[record.key] = None if record.value is None else json.loads(record.value)
    return {key: value for key, value in found.items() if value is not None}


def test_chained_queries_make_what_they_make_record_by_record(
    spark: Any, engine: SqlEngine, inputs: dict[str, Any]
) -> None:
    """A topic with two writers, a join behind it, an aggregate behind that, a table behind that."""
    _, queries = piped()
    with engine.run_batch(inputs, spark) as made, queries:
        assert made.sinks == ["MOVES", "NAMED", "BALANCES", "MINUTES", "LARGE"]
        moves, wanted = defaultdict(list), defaultdict(list)
        for row in made["moves"].orderBy("ROWTIME").collect():
            moves[row["USER"]].append(row["AMOUNT"])
        for record in queries.records("MOVES"):
            wanted[record.key.decode()].append(json.loads(record.value)["AMOUNT"])
        assert moves == wanted
        balances = {r["NAME"]: (r["TOTAL"], r["N"]) for r in made["BALANCES"].collect()}
        assert balances == {
            key.decode(): (row["TOTAL"], row["N"])
            for key, row in newest(queries, "BALANCES").items()
        }
        assert set(balances) == {"ann", "bob"}
        large = {r["NAME"]: r["TOTAL"] for r in made["LARGE"].collect()}
        assert large == {k.decode(): v["TOTAL"] for k, v in newest(queries, "LARGE").items()}
        counted = {(r["USER"], r["WINDOWSTART"]): r["N"] for r in made["MINUTES"].collect()}
        assert counted == {
            (key[:-8].decode(), int.from_bytes(key[-8:], "big")): row["N"]
            for key, row in newest(queries, "MINUTES").items()
        }
        assert {r["WINDOWEND"] - r["WINDOWSTART"] for r in made["MINUTES"].collect()} == {60_000}
        changes = made.changes("LARGE")
        assert changes.count() == len(queries.records("LARGE"))


def test_a_select_has_its_rows_in_order_up_to_its_limit(
    spark: Any, engine: SqlEngine, inputs: dict[str, Any]
) -> None:
    with engine.run_batch(inputs, spark) as made:
        rows = made.select(
            "SELECT product, amount FROM orders WHERE amount > 15 EMIT CHANGES LIMIT 3;"
        )
        wanted = [(product, amount) for _, product, amount, _ in ORDERS if amount > 15][:3]
        assert [tuple(row) for row in rows.collect()] == wanted


TYPES = """
CREATE STREAM given (k INT KEY, b BOOLEAN, i INT, g BIGINT, d DOUBLE, s VARCHAR, y BYTES, a DATE,
        t TIME, m TIMESTAMP, c DECIMAL(6, 2), l ARRAY<TIMESTAMP>, p MAP<VARCHAR, DATE>,
        r STRUCT<x INT, z VARCHAR>)
    WITH (KAFKA_TOPIC='given', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM kept AS SELECT * FROM given;
"""
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


def test_every_type_goes_in_and_comes_out(spark: Any) -> None:
    """Whole numbers that are too small for a column become larger ones."""
    engine = SqlEngine()
    engine.execute(TYPES)
    row = (
        7, True, 1, 2, 3.5, "text", b"\x00\xff", date(2026, 2, 3), "04:05:06.007", MOMENT,
        Decimal("12.34"), [MOMENT, None], {"one": date(2026, 1, 1)}, {"x": 1, "z": "in"}, MOMENT,
    )  # fmt: skip
    nothing = (8, *[None] * 13, MOMENT)
    frame = spark.createDataFrame(
        [row, nothing],
        "k int, b boolean, i int, g int, d double, s string, y binary, a date, t string,"
        " m timestamp, c decimal(6,2), l array<timestamp>, p map<string,date>,"
        " r struct<x:int,z:string>, timestamp timestamp",
    )
    with engine.run_batch({"given": frame}, spark) as made:
        kept = made["kept"].orderBy("K")
        types = {field.name: field.dataType.simpleString() for field in kept.schema}
        first, second = kept.collect()
        wanted = frame.orderBy("k").drop("timestamp").collect()
    assert types["M"] == "timestamp"
    assert types["R"] == "struct<X:int,Z:string>"
    found = list(first)[:-1]
    assert found[:-1] == list(wanted[0])[:-1]
    assert first["R"].asDict() == {"X": 1, "Z": "in"}
    assert list(second)[1:-1] == [None] * 13


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda given: given.pop("orders"), "missing-input"),
        (lambda given: given.update(ordres=given["orders"]), "unknown-source"),
        (lambda given: given.update(REFUNDS=given["REFUNDS"].drop("amount")), "unknown-column"),
        (lambda given: given.update(REFUNDS=given["REFUNDS"].drop("rowtime")), "unknown-column"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(
    engine: SqlEngine, inputs: dict[str, Any], spark: Any, change: Any, code: str
) -> None:
    change(inputs)
    with pytest.raises(PenstockError) as raised:
        engine.run_batch(inputs, spark)
    assert raised.value.code == code
    assert raised.value.fix


def test_a_value_that_does_not_fit_is_named(spark: Any) -> None:
    """The error is that of SQL, and not a trace of Spark's."""
    engine = SqlEngine()
    engine.execute(
        "CREATE STREAM given (t TIME)"
        " WITH (KAFKA_TOPIC='given', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE STREAM kept AS SELECT * FROM given;"
    )
    frame = spark.createDataFrame([("noon", 0)], "t string, timestamp bigint")
    with (
        engine.run_batch({"given": frame}, spark) as made,
        pytest.raises(PenstockError, match="'noon' is not a time of day"),
        as_raised(),
    ):
        made["kept"].collect()


# The command


@pytest.fixture
def files(spark: Any, tmp_path: Path) -> Path:
    frame = spark.createDataFrame(ORDERS, "user string, product string, amount double, at bigint")
    frame.write.parquet(str(tmp_path / "orders"))
    (tmp_path / "sums.sql").write_text(
        "CREATE STREAM orders (user VARCHAR KEY, amount DOUBLE)"
        " WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);\n"
        "CREATE TABLE sums AS SELECT user, SUM(amount) AS total FROM orders GROUP BY user;\n"
    )
    return tmp_path


def run(files: Path, *options: str, history: str | None = None) -> Any:
    given = history or f"orders=parquet:{files}/orders?timestamp=at"
    command = ["sql", "run", str(files / "sums.sql"), "--batch", "--history", given, *options]
    return CliRunner().invoke(app, command)


def sums() -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for user, _, amount, _ in ORDERS:
        found[user] += amount
    return dict(found)


def test_the_command_prints_the_rows_of_every_table(files: Path) -> None:
    result = run(files, "--json")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    found = {each["row"]["USER"]: each["row"]["TOTAL"] for each in rows if "row" in each}
    assert found == sums()
    assert "USER" in run(files).stdout


def test_the_command_writes_a_folder_for_every_table_and_never_over_another(
    files: Path, spark: Any
) -> None:
    place = f"parquet:{files}/out"
    assert run(files, "--outputs", place).exit_code == 0
    rows = spark.read.parquet(f"{files}/out/SUMS").collect()
    assert {row["USER"]: row["TOTAL"] for row in rows} == sums()
    again = run(files, "--outputs", place)
    assert again.exit_code == 1
    assert "[output-exists]" in again.stderr


def test_the_command_says_what_is_missing_before_spark_reads_anything(files: Path) -> None:
    result = run(files, history=f"ordres=parquet:{files}/orders?timestamp=at")
    assert result.exit_code == 1
    assert "[unknown-source]" in result.stderr
    with (files / "sums.sql").open("a") as script:
        script.write("SELECT * FROM sums;\n")
    asked = run(files)
    assert asked.exit_code == 1
    assert "[not-in-batch]" in asked.stderr
