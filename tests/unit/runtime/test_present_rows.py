"""Tables of present rows equal a dict, whatever dies: ``lake.present_rows`` in both formats."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.lake.delta import DeltaTable
from penstock.runtime.spark.driver.lake.iceberg import IcebergTable
from penstock.runtime.spark.driver.lake.table import DataFile, Table, Transaction
from tests.unit.runtime.test_iceberg import NAME, column, loaded, places, struct

deltalake = pytest.importorskip("deltalake")

STARTS = [datetime(2026, 11, 19, hour, tzinfo=UTC) for hour in range(3)]
ROWS = struct(
    column("key", "string"),
    column("value", struct(column("n", "long"))),
    column("window_start", "timestamp"),
    column("window_end", "timestamp"),
)
ARROW = pa.schema(
    [
        ("key", pa.string()),
        ("value", pa.struct([("n", pa.int64())])),
        ("window_start", pa.timestamp("us", "UTC")),
        ("window_end", pa.timestamp("us", "UTC")),
    ]
)
KEYS = ("key", "window_start", "window_end")
Key = tuple[str, datetime]
Present = dict[Key, int]
#: Makes a table in a folder, and reads its rows.
Format = tuple[Callable[[Path], Table], Callable[[Path], pa.Table]]


def delta(folder: Path, keys: tuple[str, ...] = KEYS) -> Table:
    return DeltaTable(str(folder / "rows"), "app.py:7", keys)


def iceberg(folder: Path, keys: tuple[str, ...] = KEYS) -> Table:
    return IcebergTable(NAME, places(folder), "app.py:7", keys)


def read_delta(folder: Path) -> pa.Table:
    return pa.table(deltalake.DeltaTable(folder / "rows").to_pyarrow_table())


def read_iceberg(folder: Path) -> pa.Table:
    return loaded(folder).scan().to_arrow()


@pytest.fixture(params=["delta", "iceberg"], scope="module")
def format_(request: pytest.FixtureRequest) -> Format:
    if request.param == "delta":
        return delta, read_delta
    pytest.importorskip("pyiceberg.catalog", reason="needs penstock-streams[iceberg]")
    return iceberg, read_iceberg


def rows_of(table: pa.Table) -> Present:
    found = table.to_pylist()
    present = {(row["key"], row["window_start"]): row["value"]["n"] for row in found}
    assert len(present) == len(found)
    return present


def written(table: Table, changes: dict[Key, int | None]) -> DataFile:
    rows = [
        {
            "key": key,
            "value": None if number is None else {"n": number},
            "window_start": start,
            "window_end": start + timedelta(hours=1),
        }
        for (key, start), number in changes.items()
    ]
    path = Path(table.files_folder, f"{os.urandom(4).hex()}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW), path)
    return DataFile(path.name, path.stat().st_size, len(rows))


changes = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(STARTS)),
    st.none() | st.integers(0, 9),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None)
@given(
    versions=st.lists(
        st.tuples(changes, st.sampled_from(["before", "after", "none"])), min_size=1, max_size=5
    )
)
def test_each_version_is_the_table_at_that_moment(
    tmp_path_factory: pytest.TempPathFactory,
    format_: Format,
    versions: list[tuple[dict[Key, int | None], str]],
) -> None:
    """A driver may die before its commit, and after it without knowing of it."""
    (make, read), folder = format_, tmp_path_factory.mktemp("lake")
    present: Present = {}
    for number, (changed, death) in enumerate(versions, start=1):
        for key, value in changed.items():
            present.pop(key, None)
            if value is not None:
                present[key] = value
        for is_again in range(1 if death == "none" else 2):
            table = make(folder)
            table.open(ROWS)
            file = written(table, changed)
            if death == "before" and not is_again:
                continue
            table.append([file], Transaction("app", number), {"penstock.batch": str(number)})
        assert rows_of(read(folder)) == present


def test_an_old_version_does_not_come_back(tmp_path: Path, format_: Format) -> None:
    """A driver that was paused finds that others went on."""
    make, read = format_
    table = make(tmp_path)
    table.open(ROWS)
    key = ("a", STARTS[0])
    first, second = written(table, {key: 1}), written(table, {key: 2})
    again = written(table, {key: 1})
    assert table.append([first], Transaction("app", 1), {})
    assert table.append([second], Transaction("app", 2), {})
    assert not table.append([again], Transaction("app", 1), {})
    assert rows_of(read(tmp_path)) == {key: 2}
    assert not Path(table.files_folder, first.name).exists()


@pytest.mark.parametrize(("before", "after"), [(KEYS, ()), ((), KEYS)])
def test_a_table_of_changes_is_none_of_present_rows(
    tmp_path: Path, format_: Format, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    make: Any = format_[0]
    make(tmp_path, before).open(ROWS)
    with pytest.raises(StreamsError, match="appended") as caught:
        make(tmp_path, after).open(ROWS)
    assert caught.value.code == "lake-table"


def test_many_windows_make_a_condition_that_is_not_deep(tmp_path: Path, format_: Format) -> None:
    make, read = format_
    table = make(tmp_path)
    table.open(ROWS)
    many = {("a", STARTS[0] + timedelta(hours=hour)): hour for hour in range(1500)}
    table.append([written(table, dict(many))], Transaction("app", 1), {})
    table.append([written(table, dict.fromkeys(many, 0))], Transaction("app", 2), {})
    assert rows_of(read(tmp_path)) == dict.fromkeys(many, 0)


def test_small_files_of_a_delta_table_become_one(tmp_path: Path) -> None:
    table = DeltaTable(str(tmp_path / "rows"))
    table.open(ROWS)
    for number in range(5):
        file = written(table, {("a", STARTS[0]): number})
        table.append([file], Transaction("app", number + 1), {})
    table.compact()
    found = deltalake.DeltaTable(tmp_path / "rows")
    assert len(found.file_uris()) == 1
    assert sorted(row["value"]["n"] for row in read_delta(tmp_path).to_pylist()) == [*range(5)]
    assert table.has(Transaction("app", 5))


def test_files_that_cannot_be_put_together_do_no_harm(tmp_path: Path) -> None:
    table = DeltaTable(str(tmp_path / "rows"))
    table.compact()
    table.open(ROWS)
    assert not table.has(Transaction("app", 1))
