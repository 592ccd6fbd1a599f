"""Tables of ``to_lake`` on Kafka and Spark, read back with deltalake, pyiceberg and DuckDB.

Exercises ``lake.lake_sinks``, ``lake.row_files`` and ``spark.typed_columns``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.sql import SqlEngine
from tests.integration.spark.lake_tables import Tables, lake, last_values

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
__all__ = ["lake"]


@dataclass
class Payment:
    user: str
    amount: float
    tags: list[str] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)


def test_every_record_is_a_row_of_the_table(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    lake: Tables,
) -> None:
    """Columns follow the dataclass, and a second run adds only what is new."""
    source = new_topic("payments", partitions=2)
    builder = ps.StreamsBuilder()
    builder.stream(source, key=str, value=Payment).to_lake(lake.name(), name="lake")
    topology = builder.build()
    for run in range(2):
        payments = [payment(n, run + n / 2) for n in range(10)]
        produce(source, *[(f"k{n}", value) for n, value in enumerate(payments)])
        with streams_of(topology, **lake.settings) as streams:
            assert streams.run_until_idle("300s")
    rows = lake.rows()
    assert sorted((row["key"], row["value"]["amount"]) for row in rows) == sorted(
        (f"k{n}", run + n / 2) for n in range(10) for run in range(2)
    )
    assert [*rows[0]] == ["key", "value", "timestamp", "partition", "sequence"]
    last = next(row["value"] for row in rows if row["value"]["amount"] == 5.5)
    assert (last["tags"], dict(last["parts"])) == (["t9", "x"], {"a": 5.5})
    assert len({(row["partition"], row["sequence"]) for row in rows}) == 20
    duckdb = pytest.importorskip("duckdb")
    columns = "count(*), sum(value.amount), count(value.tags[1])"
    found = duckdb.sql(f"SELECT {columns} FROM read_parquet({lake.files()})").fetchall()
    assert found == [(20, 55.0, 20)]


def payment(number: int, amount: float) -> dict[str, Any]:
    tags = [f"t{number}", "x"]
    return {"user": f"u{number}", "amount": amount, "tags": tags, "parts": {"a": amount}}


def test_the_table_as_of_a_cut_is_the_store_as_of_that_cut(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    lake: Tables,
) -> None:
    """The last change of each key, up to a version, is what the store had in that batch."""
    source = new_topic("words", partitions=2)
    builder = ps.StreamsBuilder()
    counts = builder.stream(source).group_by(lambda key, word: word).count("counts")
    counts.to_lake(lake.name())
    config = {"num_stream_threads": 2, "penstock_lake_commit_interval_ms": 0, **lake.settings}
    seen: dict[int, dict[str, int]] = {}
    with streams_of(builder.build(), **config) as streams:
        for length in (3, 5, 2):
            produce(source, *[(f"k{n}", f"w{n % length}") for n in range(400)])
            with streams.cut(timeout="120s") as cut:
                stored = dict(cut.store("counts").all())
                # No task goes on before the table has what was committed.
                until(lambda: last_values(lake.rows()) == stored)  # noqa: B023
                # The first cut may come before the first row.
                for version, batch in lake.versions()[-1:]:
                    assert batch <= cut.batch
                    seen[version] = stored
        assert streams.run_until_idle("300s")
    assert sum(last_values(lake.rows()).values()) == 1200
    assert seen
    for version, stored in seen.items():
        assert last_values(lake.rows(version=version)) == stored


def test_present_rows_as_of_a_cut_are_the_store_as_of_that_cut(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    lake: Tables,
) -> None:
    """Each version has one row for each key, and none for a deleted one."""
    source = new_topic("users", partitions=2)
    builder = ps.StreamsBuilder()
    users = builder.table(source, materialized="users")
    users.to_lake(lake.name(), mode="present")
    hours = ps.TimeWindows.of_size_with_no_grace("1h")
    counts = users.to_stream().group_by_key().windowed_by(hours).count("counts")
    counts.to_lake(lake.name("counts"), mode="present")
    config = {
        "num_stream_threads": 2,
        "penstock_lake_commit_interval_ms": 0,
        "penstock_lake_compact_versions": 2,
        **lake.settings,
    }
    seen: dict[int, dict[str, str]] = {}
    with streams_of(builder.build(), **config) as streams:
        for turn in range(3):
            # Some keys are new, some change, some are deleted, some of those come back.
            names = [(f"k{n}", None if n % 3 == turn else f"v{turn}") for n in range(20 + turn)]
            produce(source, *names)
            expected = {key: name for key, name in names if name is not None}
            until(lambda: present(lake.rows()) == expected)  # noqa: B023
            with streams.cut(timeout="120s") as cut:
                stored = dict(cut.store("users").all())
                until(lambda: present(lake.rows()) == stored)  # noqa: B023
                seen[lake.versions()[-1][0]] = stored
                windows = cut.store("counts").all()
                counted = {(each.key, each.start): count for each, count in windows}
        assert streams.run_until_idle("300s")
    assert len(seen) == 3
    for version, stored in seen.items():
        assert present(lake.rows(version=version)) == stored
    assert sum(counted.values()) > 40
    assert counted == {
        (row["key"], row["window_start"].timestamp() * 1000): row["value"]
        for row in lake.rows("counts")
    }


def present(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows of a table by their keys, each of which is there once."""
    found = {row["key"]: row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def until(is_true: Callable[[], bool], patience_s: float = 120.0) -> None:
    deadline = time.monotonic() + patience_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_windows_and_untyped_values_have_columns(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    lake: Tables,
) -> None:
    """Text without a known type stays text; anything else is JSON text."""
    source = new_topic("words", partitions=1)
    builder = ps.StreamsBuilder()
    words = builder.stream(source, value="json")
    words.to_lake(lake.name("words"))
    windows = ps.TimeWindows.of_size_with_no_grace("1h")
    counts = words.group_by_key().windowed_by(windows).count("counts")
    counts.to_lake(lake.name("counts"), schema=int)
    produce(source, ("a", '"x"'), ("b", {"n": 1}), ("a", "5"))
    with streams_of(builder.build(), **lake.settings) as streams:
        assert streams.run_until_idle("300s")
    values = [(row["key"], row["value"]) for row in lake.rows("words")]
    assert values == [("a", "x"), ("b", '{"n":1}'), ("a", "5")]
    last = {row["key"]: row for row in lake.rows("counts")}
    assert {key: row["value"] for key, row in last.items()} == {"a": 2, "b": 1}
    hour = last["a"]["window_end"] - last["a"]["window_start"]
    assert hour.total_seconds() == 3600


def test_results_of_queries_are_rows_with_the_types_of_sql(
    spark: Any, kafka_broker: str, application_id: str, tmp_path: Path, lake: Tables
) -> None:
    """A column of every type; the key of a window has its bounds beside it."""
    copies, counts = lake.name("copies"), lake.name("counts")
    engine = SqlEngine({"ksql.service.id": application_id})
    engine.execute(f"""
        CREATE STREAM orders (id VARCHAR KEY, n INT, price DECIMAL(10, 2), big DECIMAL(40, 1),
                day DATE, at TIME, seen TIMESTAMP, raw BYTES, tags ARRAY<VARCHAR>,
                parts MAP<VARCHAR, DOUBLE>, who STRUCT<name VARCHAR, at TIMESTAMP>)
            WITH (KAFKA_TOPIC='{application_id}-orders', VALUE_FORMAT='JSON', PARTITIONS=2);
        CREATE STREAM copies WITH (KAFKA_TOPIC='{application_id}-copies', SINK='{copies}')
            AS SELECT * FROM orders WHERE n > 0;
        CREATE TABLE counts WITH (KAFKA_TOPIC='{application_id}-counts', SINK='{counts}')
            AS SELECT n, COUNT(*) AS total FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY n;
        INSERT INTO orders (ROWTIME, id, n, price, big, day, at, seen, raw, tags, parts, who)
            VALUES
            (3600000, 'a', 1, 12.34, 5.5, '2026-11-19', '10:11:12', '2026-11-19T10:11:12.345',
             TO_BYTES('x', 'utf8'), ARRAY['t', 'u'], MAP('p' := 1.5),
             STRUCT(name := 'ann', at := '2026-11-19T00:00:00')),
            (3600001, 'b', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    """)
    config = {
        "bootstrap.servers": kafka_broker,
        "state.dir": str(tmp_path / "state"),
        "penstock.lake.commit.interval.ms": 0,
        **lake.settings,
    }
    with engine.run_on_spark(config) as queries:
        assert queries.run_until_idle(300)
    rows = {row["key"]: row["value"] for row in lake.rows("copies")}
    seen = datetime(2026, 11, 19, 10, 11, 12, 345_000, UTC)
    found = rows["a"] | {"PARTS": dict(rows["a"]["PARTS"])}
    assert found == {
        "N": 1, "PRICE": Decimal("12.34"), "BIG": "5.5", "DAY": date(2026, 11, 19),
        "AT": "10:11:12.000", "SEEN": seen, "RAW": b"x", "TAGS": ["t", "u"], "PARTS": {"p": 1.5},
        "WHO": {"NAME": "ann", "AT": datetime(2026, 11, 19, tzinfo=UTC)},
    }  # fmt: skip
    assert rows["b"] == dict.fromkeys(rows["b"]) | {"N": 1}
    last = lake.rows("counts")[-1]
    assert (last["key"], last["value"]) == (1, {"TOTAL": 2})
    assert (last["window_start"].hour, last["window_end"].hour) == (1, 2)
