"""Tables of a lakehouse, as tests name them and read them back: one class for each format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

KINDS = ("delta", "iceberg")


class DeltaTables:
    """Tables that are folders, read with ``deltalake``."""

    def __init__(self, folder: Path) -> None:
        self._delta = pytest.importorskip("deltalake")
        self._folder = folder
        self.settings: dict[str, Any] = {}

    def name(self, table: str = "rows") -> str:
        return f"delta:{self._folder / table}"

    def rows(self, table: str = "rows", version: int | None = None) -> list[dict[str, Any]]:
        found = self._delta.DeltaTable(self._folder / table, version=version)
        return in_order(pa.table(found.to_pyarrow_table()).to_pylist())

    def files(self, table: str = "rows") -> list[str]:
        """Return the Parquet files of the newest version."""
        found: list[str] = self._delta.DeltaTable(self._folder / table).file_uris()
        return found

    def versions(self, table: str = "rows") -> list[tuple[int, int]]:
        """Return each version that was appended, in order, and the cut of its rows."""
        history = self._delta.DeltaTable(self._folder / table).history()
        found = [(each["version"], int(each.get("penstock.batch", 0))) for each in history]
        return sorted(version for version in found if version[0] > 0)

    def count(self, table: str = "rows") -> int:
        """Return how many commits the table has, as cheaply as a test can ask again and again."""
        return len([*(self._folder / table).glob("_delta_log/*.json")])


class IcebergTables:
    """Tables of a catalog in SQLite, read with ``pyiceberg``."""

    def __init__(self, folder: Path) -> None:
        self._catalogs = pytest.importorskip("pyiceberg.catalog")
        folder.mkdir(parents=True, exist_ok=True)
        self._catalog = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}",
        }
        self.settings = {f"lake.iceberg.default.{name}": it for name, it in self._catalog.items()}

    def name(self, table: str = "rows") -> str:
        return f"iceberg:shop.{table}"

    def rows(self, table: str = "rows", version: int | None = None) -> list[dict[str, Any]]:
        return in_order(self._load(table).scan(snapshot_id=version).to_arrow().to_pylist())

    def files(self, table: str = "rows") -> list[str]:
        """Return the Parquet files of the newest version."""
        found = self._load(table).inspect.files().column("file_path").to_pylist()
        return [path.removeprefix("file://") for path in found]

    def versions(self, table: str = "rows") -> list[tuple[int, int]]:
        """Return each version that was appended, in order, and the cut of its rows."""
        return [(each.snapshot_id, _batch(each)) for each in self._load(table).snapshots()]

    def count(self, table: str = "rows") -> int:
        """Return how many commits the table has."""
        try:
            return len(self._load(table).snapshots())
        except pytest.importorskip("pyiceberg.exceptions").NoSuchTableError:
            return 0

    def _load(self, table: str) -> Any:
        return self._catalogs.load_catalog("default", **self._catalog).load_table(f"shop.{table}")


Tables = DeltaTables | IcebergTables


def tables_of(kind: str, folder: Path) -> Tables:
    return DeltaTables(folder) if kind == "delta" else IcebergTables(folder)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["partition"], row["sequence"]))


def last_values(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the last change of each key."""
    return {row["key"]: row["value"] for row in rows}


def _batch(snapshot: Any) -> int:
    return int(snapshot.summary.additional_properties.get("penstock.batch", 0))


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    """A lakehouse in each format that ``to_lake`` writes."""
    return tables_of(request.param, tmp_path / "lake")
