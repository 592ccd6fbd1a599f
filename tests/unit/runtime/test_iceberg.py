"""Iceberg tables take each transaction once, whatever dies; needs the extra ``iceberg``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import MissingExtraError, StreamsError
from penstock.model.lake_table import IcebergName
from penstock.runtime.spark.driver.lake import iceberg as module
from penstock.runtime.spark.driver.lake.iceberg import IcebergTable, catalog_settings
from penstock.runtime.spark.driver.lake.iceberg_types import IcebergTypes, type_text
from penstock.runtime.spark.driver.lake.table import DataFile, Transaction

catalogs = pytest.importorskip("pyiceberg.catalog", reason="needs penstock-streams[iceberg]")
pytest.importorskip("sqlalchemy", reason="needs penstock-streams[iceberg]")

NAME = IcebergName("default", "shop.rows")


def column(name: str, kind: Any, *, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}


def struct(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


ROWS = struct(column("key", "string"), column("sequence", "long"))


def places(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}


def opened(folder: Path, schema: dict[str, Any] = ROWS) -> IcebergTable:
    made = IcebergTable(NAME, places(folder), "app.py:7")
    made.open(schema)
    return made


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    return opened(tmp_path)


def file(table: IcebergTable, *numbers: int) -> DataFile:
    path = Path(table.files_folder, f"{os.urandom(4).hex()}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"key": ["k"] * len(numbers), "sequence": list(numbers)}), path)
    return DataFile(path.name, path.stat().st_size, len(numbers))


def loaded(folder: Path) -> Any:
    return catalogs.load_catalog("default", **places(folder)).load_table("shop.rows")


def numbers(folder: Path) -> list[int]:
    return sorted(loaded(folder).scan().to_arrow().column("sequence").to_pylist())


def test_a_transaction_is_appended_once(table: IcebergTable, tmp_path: Path) -> None:
    """Also after the snapshot that says so has expired."""
    assert table.append([file(table, 1, 2)], Transaction("app", 1), {"penstock.batch": "7"})
    assert not table.append([file(table, 1, 2)], Transaction("app", 1), {})
    assert table.append([file(table, 3)], Transaction("app", 2), {})
    first = loaded(tmp_path).snapshots()[0]
    told = first.summary.additional_properties
    assert (told["penstock.batch"], told["penstock.transaction"]) == ("7", "app")
    loaded(tmp_path).maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    assert not table.append([file(table, 1, 2)], Transaction("app", 1), {})
    assert numbers(tmp_path) == [1, 2, 3]


def test_transactions_of_others_do_not_count(table: IcebergTable, tmp_path: Path) -> None:
    table.append([file(table, 1)], Transaction("app/a", 5), {})
    assert table.append([file(table, 2)], Transaction("app/b", 1), {})
    assert numbers(tmp_path) == [1, 2]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen between a driver's first look at the table and its commit."""
    is_there, looked = module._has, []

    def has(found: Any, transaction: Transaction) -> bool:
        answer = is_there(found, transaction)
        looked.append(answer)
        if len(looked) == 1:
            act()
        return answer

    monkeypatch.setattr(module, "_has", has)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_drivers_with_the_same_rows_one_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """The one that was paused between its look and its commit finds the rows there."""
    table, other = opened(tmp_path), opened(tmp_path)
    if not is_first:
        table.append([file(table, 0)], Transaction("app", 1), {})
    same = Transaction("app", 2)
    meanwhile(monkeypatch, lambda: other.append([file(other, 1)], same, {}))
    assert not table.append([file(table, 1)], same, {})
    assert numbers(tmp_path) == ([1] if is_first else [0, 1])


def test_another_writer_does_not_get_in_the_way(
    table: IcebergTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"key": ["x"], "sequence": pa.array([9], pa.int64())})
    meanwhile(monkeypatch, lambda: loaded(tmp_path).append(rows))
    assert table.append([file(table, 1)], Transaction("app", 1), {})
    assert numbers(tmp_path) == [1, 9]
    kept = loaded(tmp_path).properties
    assert "commit.retry.num-retries" not in kept


@settings(max_examples=15)
@given(deaths=st.lists(st.sampled_from(["before", "after", "none"]), min_size=1, max_size=6))
def test_every_row_is_there_once_wherever_a_driver_dies(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[str]
) -> None:
    """A driver that dies after its commit does not know of it, and appends the rows again."""
    folder = tmp_path_factory.mktemp("lake")
    table = opened(folder)
    for version, death in enumerate(deaths, start=1):
        if death == "before":
            file(table, version)
        if death == "after":
            table.append([file(table, version)], Transaction("app", version), {})
        again = opened(folder)
        again.append([file(again, version)], Transaction("app", version), {})
    assert numbers(folder) == list(range(1, len(deaths) + 1))


NESTED = struct(
    column("tags", {"type": "array", "elementType": "string", "containsNull": True}),
    column(
        "value",
        struct(
            column("at", "timestamp"),
            column("price", "decimal(10,2)"),
            column(
                "parts",
                {
                    "type": "map",
                    "keyType": "string",
                    "valueType": struct(column("n", "integer")),
                    "valueContainsNull": True,
                },
            ),
        ),
    ),
)


def test_nested_types_are_those_of_spark(tmp_path: Path) -> None:
    """A second start finds the table that the first one has made."""
    opened(tmp_path, NESTED)
    opened(tmp_path, NESTED)
    found = [type_text(field.field_type) for field in loaded(tmp_path).schema().fields]
    parts = "map<string, struct<n: int>>"
    assert found == [
        "list<string>",
        f"struct<at: timestamptz, price: decimal(10, 2), parts: {parts}>",
    ]


@pytest.mark.parametrize("kind", ["variant", "interval year to month", {"type": "udt"}])
def test_a_type_that_iceberg_does_not_have_is_refused(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(StreamsError, match="Iceberg has no type for"):
        opened(tmp_path, struct(column("key", kind)))


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (struct(*ROWS["fields"], column("more", "string")), "no column 'more'"),
        (struct(column("key", "long"), column("sequence", "long")), "its column 'key' is string"),
    ],
)
def test_a_table_that_rows_do_not_fit_into_is_refused(
    table: IcebergTable, tmp_path: Path, wanted: dict[str, Any], why: str
) -> None:
    with pytest.raises(StreamsError, match=why) as caught:
        opened(tmp_path, wanted)
    assert (caught.value.code, caught.value.at) == ("lake-table", "app.py:7")


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_column_that_must_have_a_value_is_refused(tmp_path: Path, is_wanted: bool) -> None:
    catalog = catalogs.load_catalog("default", **places(tmp_path))
    catalog.create_namespace("shop")
    name = "key" if is_wanted else "note"
    schema = pa.schema([pa.field(name, pa.string(), nullable=False), ("sequence", pa.int64())])
    schema = schema if is_wanted else schema.append(pa.field("key", pa.string()))
    catalog.create_table("shop.rows", schema)
    with pytest.raises(StreamsError, match=f"'{name}' must have a value"):
        opened(tmp_path)


def test_a_partitioned_table_is_refused(table: IcebergTable, tmp_path: Path) -> None:
    with loaded(tmp_path).update_spec() as spec:
        spec.add_identity("key")
    with pytest.raises(StreamsError, match="partitioned by 'key'"):
        opened(tmp_path)


def test_a_table_may_have_more_columns(tmp_path: Path) -> None:
    opened(tmp_path, struct(*ROWS["fields"], column("note", "string")))
    table = opened(tmp_path)
    table.append([file(table, 1)], Transaction("app", 1), {})
    assert numbers(tmp_path) == [1]


def test_a_catalog_that_nobody_has_described_is_refused() -> None:
    name = IcebergName("nowhere", "shop.rows")
    with pytest.raises(StreamsError, match=r"lake\.iceberg\.nowhere\.uri") as caught:
        IcebergTable(name, {}).open(ROWS)
    assert caught.value.code == "lake-table"


def remove(folder: Path) -> None:
    catalogs.load_catalog("default", **places(folder)).drop_table("shop.rows")


def hide(folder: Path) -> None:
    (folder / "catalog.db").write_text("no database")


@pytest.mark.parametrize(("harm", "code"), [(remove, "lake-table"), (hide, "lake-unavailable")])
def test_a_table_that_is_gone_is_another_error_than_one_that_cannot_be_read(
    table: IcebergTable, tmp_path: Path, harm: Callable[[Path], None], code: str
) -> None:
    """The first is for the user; the second is tried again."""
    written = file(table, 1)
    harm(tmp_path)
    with pytest.raises(StreamsError) as caught:
        table.append([written], Transaction("app", 1), {})
    assert caught.value.code == code
    assert not table.has(Transaction("app", 1))


def test_settings_of_a_catalog_begin_with_its_name() -> None:
    config = {"lake.iceberg.default.uri": "a", "lake.iceberg.main.uri": "b"}
    assert catalog_settings(NAME, config) == {"uri": "a"}
    assert catalog_settings(IcebergName("main", "shop.rows"), config) == {"uri": "b"}


def test_every_simple_type_of_spark_has_one_of_iceberg() -> None:
    names = ["string", "binary", "boolean", "byte", "long", "double", "date", "timestamp_ntz"]
    schema = IcebergTypes().schema(struct(*[column(name, name) for name in names]))
    texts = [type_text(field.field_type) for field in schema.fields]
    assert texts == ["string", "binary", "boolean", "int", "long", "double", "date", "timestamp"]


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", fails)
    with pytest.raises(MissingExtraError, match=r"penstock-streams\[iceberg\]"):
        IcebergTable(NAME, {})
