"""Tables of ``to_lake`` on Kafka and Spark, read back with deltalake and DuckDB.

Exercises ``lake.lake_sinks``, ``lake.row_files`` and ``spark.typed_columns``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps

deltalake = pytest.importorskip("deltalake")
pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@dataclass
class Payment:
    user: str
    amount: float


def read(folder: Path, version: int | None = None) -> list[dict[str, Any]]:
    table = pa.table(deltalake.DeltaTable(folder, version=version).to_pyarrow_table())
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["sequence"]))


def test_every_record_is_a_row_of_the_table(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    tmp_path: Path,
) -> None:
    """Columns follow the dataclass, and a second run adds only what is new."""
    source, folder = new_topic("payments", partitions=2), tmp_path / "lake"
    builder = ps.StreamsBuilder()
    builder.stream(source, key=str, value=Payment).to_lake(f"delta:{folder}", name="lake")
    topology = builder.build()
    for run in range(2):
        produce(source, *[(f"k{n}", {"user": f"u{n}", "amount": run + n / 2}) for n in range(10)])
        with streams_of(topology) as streams:
            assert streams.run_until_idle("300s")
    rows = read(folder)
    assert sorted((row["key"], row["value"]["amount"]) for row in rows) == sorted(
        (f"k{n}", run + n / 2) for n in range(10) for run in range(2)
    )
    columns = [*rows[0]]
    assert columns == ["key", "value", "timestamp", "partition", "sequence"]
    assert len({(row["partition"], row["sequence"]) for row in rows}) == 20
    duckdb = pytest.importorskip("duckdb")
    files = deltalake.DeltaTable(folder).file_uris()
    found = duckdb.sql(f"SELECT count(*), sum(value.amount) FROM read_parquet({files})").fetchall()
    assert found == [(20, 55.0)]


def test_the_table_as_of_a_cut_is_the_store_as_of_that_cut(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    tmp_path: Path,
) -> None:
    """The last change of each key, up to a version, is what the store had in that batch."""
    source, folder = new_topic("words", partitions=2), tmp_path / "lake"
    builder = ps.StreamsBuilder()
    counts = builder.stream(source).group_by(lambda key, word: word).count("counts")
    counts.to_lake(f"delta:{folder}")
    config = {"num_stream_threads": 2, "penstock_lake_commit_interval_ms": 0}
    seen: dict[int, dict[str, int]] = {}
    with streams_of(builder.build(), **config) as streams:
        for length in (3, 5, 2):
            produce(source, *[(f"k{n}", f"w{n % length}") for n in range(400)])
            with streams.cut(timeout="120s") as cut:
                stored = dict(cut.store("counts").all())
                # No task goes on before the table has what was committed.
                until(lambda: last_values(folder) == stored)  # noqa: B023
                batch, version = newest(folder)
                assert batch <= cut.batch
                seen[version] = stored
        assert streams.run_until_idle("300s")
    assert sum(last_values(folder).values()) == 1200
    for version, stored in seen.items():
        assert last_values(folder, version) == stored


def last_values(folder: Path, version: int | None = None) -> dict[str, int]:
    """Return the last change of each key up to a version."""
    return {row["key"]: row["value"] for row in read(folder, version)}


def newest(folder: Path) -> tuple[int, int]:
    """Return the cut and the version of the last append; 0 for a table without rows."""
    found = deltalake.DeltaTable(folder).history(1)[0]
    return int(found.get("penstock.batch", 0)), found["version"]


def until(is_true: Callable[[], bool], patience_s: float = 120.0) -> None:
    deadline = time.monotonic() + patience_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_windows_and_untyped_values_have_columns(
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Any,
    produce: Callable[..., None],
    tmp_path: Path,
) -> None:
    """Text without a known type stays text; anything else is JSON text."""
    source, folder = new_topic("words", partitions=1), tmp_path / "lake"
    builder = ps.StreamsBuilder()
    words = builder.stream(source, value="json")
    words.to_lake(f"delta:{folder / 'words'}")
    windows = ps.TimeWindows.of_size_with_no_grace("1h")
    counts = words.group_by_key().windowed_by(windows).count("counts")
    counts.to_lake(f"delta:{folder / 'counts'}", schema=int)
    produce(source, ("a", '"x"'), ("b", {"n": 1}), ("a", "5"))
    with streams_of(builder.build()) as streams:
        assert streams.run_until_idle("300s")
    values = [(row["key"], row["value"]) for row in read(folder / "words")]
    assert values == [("a", "x"), ("b", '{"n":1}'), ("a", "5")]
    last = {row["key"]: row for row in read(folder / "counts")}
    assert {key: row["value"] for key, row in last.items()} == {"a": 2, "b": 1}
    hour = last["a"]["window_end"] - last["a"]["window_start"]
    assert hour.total_seconds() == 3600
