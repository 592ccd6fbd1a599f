"""Delta tables take each transaction once, whatever dies; needs the extra ``delta``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import MissingExtraError, StreamsError
from penstock.runtime.spark.driver.lake import delta as module
from penstock.runtime.spark.driver.lake.delta import DeltaTable
from penstock.runtime.spark.driver.lake.table import DataFile, Transaction

deltalake = pytest.importorskip("deltalake")


def column(name: str, kind: Any, *, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}


def struct(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


ROWS = struct(column("key", "string"), column("sequence", "long"))


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    made = DeltaTable(str(tmp_path / "rows"), "app.py:7")
    made.open(ROWS)
    return made


def file(table: DeltaTable, *numbers: int) -> DataFile:
    name = f"{'-'.join(map(str, numbers))}-{os.urandom(4).hex()}.parquet"
    path = Path(table.folder, name)
    pq.write_table(pa.table({"key": ["k"] * len(numbers), "sequence": list(numbers)}), path)
    return DataFile(name, path.stat().st_size, len(numbers))


def numbers(table: DeltaTable) -> list[int]:
    found: Any = pa.table(deltalake.DeltaTable(table.folder).to_pyarrow_table())
    return sorted(found.column("sequence").to_pylist())


def test_a_transaction_is_appended_once(table: DeltaTable) -> None:
    assert table.append([file(table, 1, 2)], Transaction("app", 1), {"penstock.batch": "7"})
    assert not table.append([file(table, 1, 2)], Transaction("app", 1), {})
    assert table.append([file(table, 3)], Transaction("app", 2), {})
    assert not table.append([file(table, 1, 2)], Transaction("app", 1), {})
    assert numbers(table) == [1, 2, 3]
    assert deltalake.DeltaTable(table.folder).history()[1]["penstock.batch"] == "7"


def test_transactions_of_others_do_not_count(table: DeltaTable) -> None:
    table.append([file(table, 1)], Transaction("app/a", 5), {})
    assert table.append([file(table, 2)], Transaction("app/b", 1), {})
    assert numbers(table) == [1, 2]


def test_of_two_drivers_with_the_same_rows_one_appends(
    table: DeltaTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was paused between its look and its commit finds the rows there."""
    ours, theirs = file(table, 1), file(table, 1)
    is_there = DeltaTable._has
    looked: list[bool] = []

    def has(found: Any, transaction: Transaction) -> bool:
        answer = is_there(found, transaction)
        looked.append(answer)
        if len(looked) == 1:
            other = DeltaTable(table.folder)
            assert other.append([theirs], transaction, {})
        return answer

    monkeypatch.setattr(DeltaTable, "_has", staticmethod(has))
    assert not table.append([ours], Transaction("app", 1), {})
    assert looked[0] is False
    assert numbers(table) == [1]


def test_another_writer_does_not_get_in_the_way(
    table: DeltaTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_there = DeltaTable._has

    def has(found: Any, transaction: Transaction) -> bool:
        rows = pa.table({"key": ["x"], "sequence": pa.array([9], pa.int64())})
        deltalake.write_deltalake(table.folder, rows, mode="append")
        return is_there(found, transaction)

    monkeypatch.setattr(DeltaTable, "_has", staticmethod(has))
    assert table.append([file(table, 1)], Transaction("app", 1), {})
    assert numbers(table) == [1, 9]


@given(deaths=st.lists(st.sampled_from(["before", "after", "none"]), min_size=1, max_size=8))
def test_every_row_is_there_once_wherever_a_driver_dies(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[str]
) -> None:
    """A driver that dies after its commit does not know of it, and appends the rows again."""
    table = DeltaTable(str(tmp_path_factory.mktemp("lake") / "rows"))
    table.open(ROWS)
    for version, death in enumerate(deaths, start=1):
        if death == "before":
            file(table, version)
        if death == "after":
            table.append([file(table, version)], Transaction("app", version), {})
        again = DeltaTable(table.folder)
        again.open(ROWS)
        again.append([file(again, version)], Transaction("app", version), {})
    assert numbers(table) == list(range(1, len(deaths) + 1))


def created(folder: str, **options: Any) -> None:
    given = options.pop("schema", ROWS)
    schema = deltalake.Schema.from_json(json.dumps(given))
    deltalake.DeltaTable.create(folder, schema=schema, **options)


MORE = struct(column("key", "string"), column("sequence", "long"), column("note", "string"))
MUST = struct(*ROWS["fields"], column("note", "string", nullable=False))
OTHER = struct(column("key", "long"), column("sequence", "long"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"schema": struct(column("key", "string"))}, "no column 'sequence'"),
        ({"schema": OTHER}, "its column 'key' is"),
        ({"schema": MUST}, "'note' must have a value"),
        ({"partition_by": ["key"]}, "partitioned by 'key'"),
    ],
)
def test_a_table_that_rows_do_not_fit_into_is_refused(
    tmp_path: Path, options: dict[str, Any], why: str
) -> None:
    folder = str(tmp_path / "rows")
    created(folder, **options)
    with pytest.raises(StreamsError, match=why) as caught:
        DeltaTable(folder, "app.py:7").open(ROWS)
    assert (caught.value.code, caught.value.at) == ("lake-table", "app.py:7")


def test_a_table_may_have_more_columns(tmp_path: Path) -> None:
    folder = str(tmp_path / "rows")
    created(folder, schema=MORE)
    table = DeltaTable(folder)
    table.open(ROWS)
    table.append([file(table, 1)], Transaction("app", 1), {})
    assert numbers(table) == [1]


def test_a_folder_that_cannot_be_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("a file")
    with pytest.raises(StreamsError, match="check the folder"):
        DeltaTable(str(tmp_path / "rows")).open(ROWS)


def remove_log(table: DeltaTable) -> None:
    for part in Path(table.folder, "_delta_log").iterdir():
        part.unlink()


def hide_log(table: DeltaTable) -> None:
    log = Path(table.folder, "_delta_log", "00000000000000000000.json")
    log.write_text("not JSON")


@pytest.mark.parametrize(
    ("harm", "code"), [(remove_log, "lake-table"), (hide_log, "lake-unavailable")]
)
def test_a_table_that_is_gone_is_another_error_than_one_that_cannot_be_read(
    table: DeltaTable, harm: Callable[[DeltaTable], None], code: str
) -> None:
    """The first is for the user; the second is tried again."""
    harm(table)
    with pytest.raises(StreamsError) as caught:
        table.append([file(table, 1)], Transaction("app", 1), {})
    assert caught.value.code == code
    assert not table.has(Transaction("app", 1))


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", fails)
    with pytest.raises(MissingExtraError, match=r"penstock-streams\[delta\]"):
        DeltaTable("/lake/rows")
