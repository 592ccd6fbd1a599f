"""A table in the format of Iceberg, written with ``pyiceberg``.

A catalog says which metadata is the newest one; there, each append is a snapshot. A property of the
table, set together with the snapshot, has the number of the last transaction of each application:
a snapshot may expire, and the property stays.
"""

from __future__ import annotations

import importlib
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import pyarrow as pa

from penstock.config import StreamsConfig
from penstock.errors import MissingExtraError, StreamsError
from penstock.extras import install_command
from penstock.model.lake_table import IcebergName
from penstock.runtime.spark.driver.lake.iceberg_types import IcebergTypes, type_text
from penstock.runtime.spark.driver.lake.present_rows import (
    PRESENT,
    ROWS,
    forget,
    other_rows,
    rows_of,
)
from penstock.runtime.spark.driver.lake.table import DataFile, Transaction

#: How often a commit is tried again because somebody else has changed the table.
_ATTEMPTS = 10
#: What a new table does with its metadata, which is written anew for every snapshot.
_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "commit.manifest-merge.enabled": "true",
}


def catalog_settings(name: IcebergName, config: Mapping[str, Any]) -> dict[str, str]:
    """Return what pyiceberg needs to know of a table's catalog, as the application's settings."""
    given = StreamsConfig(config).with_prefix(f"lake.iceberg.{name.catalog}.")
    return {key: str(value) for key, value in given.items()}


class IcebergTable:
    """Appends files to one table, each transaction at most once."""

    def __init__(
        self,
        name: IcebergName,
        settings: Mapping[str, str],
        at: str | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        self._name = name
        self._settings = settings
        self._at = at
        self._keys = keys
        self._catalog: Any = None
        self._location = ""
        self._iceberg = _pyiceberg()
        self._errors = _errors()

    @property
    def files_folder(self) -> str:
        return f"{self._location}/data"

    def open(self, schema: Mapping[str, Any]) -> None:
        """Create the table if it is not there; see ``Table.open``."""
        identifier, catalogs = self._name.table, importlib.import_module("pyiceberg.catalog")
        try:
            wanted = IcebergTypes().schema(schema)
            self._catalog = catalogs.load_catalog(self._name.catalog, **self._settings)
            self._catalog.create_namespace_if_not_exists(identifier.rpartition(".")[0])
            table = self._catalog.create_table_if_not_exists(
                identifier,
                wanted,
                properties=_PROPERTIES | ({ROWS: PRESENT} if self._keys else {}),
            )
        except self._errors as error:
            prefix = f"lake.iceberg.{self._name.catalog}."
            fix = f"check the catalog in the settings {prefix}uri and {prefix}warehouse"
            raise self._refused(str(error), fix) from error
        is_present = bool(self._keys)
        misfit = _misfit(table, wanted) or other_rows(table.properties, is_present=is_present)
        if misfit is not None:
            raise self._refused(misfit, "name another table, or give rows the table's types")
        self._location = table.location().removeprefix("file://")
        if "://" in self._location:
            raise self._refused(
                f"its folder is {self._location}", "name a catalog whose warehouse is a folder"
            )

    def append(
        self, files: Sequence[DataFile], transaction: Transaction, notes: Mapping[str, str]
    ) -> bool:
        """Make files part of the table, once; see ``Table.append``."""
        for _ in range(_ATTEMPTS):
            try:
                return self._append(files, transaction, notes)
            except self._iceberg.NoSuchTableError as error:
                raise self._refused(
                    "the table was deleted while the application ran",
                    "start the application again: it makes a new table",
                ) from error
            except self._iceberg.CommitFailedException:
                # Another writer was faster. It may have been a driver with the same rows.
                continue
            except self._errors as error:
                if self.has(transaction):
                    return False
                raise self._unavailable(error) from error
        raise self._unavailable("other writers were faster")

    def _append(
        self, files: Sequence[DataFile], transaction: Transaction, notes: Mapping[str, str]
    ) -> bool:
        table = self._catalog.load_table(self._name.table)
        if _has(table, transaction):
            return False
        # pyiceberg itself would try again on top of what another driver has appended. Then nobody
        # would look again whether these rows are there.
        properties = table.metadata.properties | {"commit.retry.num-retries": "0"}
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        version = {"penstock.transaction": transaction.name}
        version["penstock.version"] = str(transaction.version)
        told = {**notes, **version}
        with table.transaction() as made:
            made.set_properties({transaction.name: str(transaction.version)})
            if self._keys:
                rows = rows_of(self.files_folder, files)
                present = rows.filter(rows.column("value").is_valid())
                made.overwrite(present, _any_of(rows, self._keys), snapshot_properties=told)
            else:
                made.add_files(
                    [f"{self.files_folder}/{file.name}" for file in files],
                    snapshot_properties=told,
                    # The names are new; the check would read every manifest of the table.
                    check_duplicate_files=False,
                )
        if self._keys:
            forget(self.files_folder, files)
        return True

    def compact(self) -> None:
        """Do nothing: pyiceberg cannot put files together. Spark's ``rewrite_data_files`` can."""

    def has(self, transaction: Transaction) -> bool:
        """Tell whether the table certainly has what was appended in a transaction."""
        try:
            return _has(self._catalog.load_table(self._name.table), transaction)
        except self._errors:
            return False

    def _unavailable(self, why: object) -> StreamsError:
        return StreamsError(
            "lake-unavailable",
            f"Iceberg table {self._name.table!r} could not be written: {why}",
            fix="nothing is lost: the rows wait, and are written when the table is there again",
            at=self._at,
        )

    def _refused(self, why: str, fix: str) -> StreamsError:
        return StreamsError(
            "lake-table",
            f"rows cannot be written to Iceberg table {self._name.table!r}: {why}",
            fix=fix,
            at=self._at,
        )


def _has(table: Any, transaction: Transaction) -> bool:
    newest = table.properties.get(transaction.name)
    return newest is not None and int(newest) >= transaction.version


def _any_of(rows: pa.Table, keys: Sequence[str]) -> Any:
    """Return the condition that a row of the table has the key of one of these rows."""
    terms = importlib.import_module("pyiceberg.expressions")
    (key, *bounds), found = keys, []
    windows: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for row in rows.select(keys).to_pylist():
        windows[tuple(row[name] for name in bounds)].add(row[key])
    for window, values in windows.items():
        within = [
            terms.EqualTo(name, at.isoformat()) for name, at in zip(bounds, window, strict=True)
        ]
        found.append(reduce(terms.And, within, terms.In(key, values)))
    while len(found) > 1:
        # A tree, because its depth is limited.
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [terms.Or(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return found[0]


def _misfit(table: Any, wanted: Any) -> str | None:
    """Return why rows with the wanted columns cannot be appended as they are."""
    there = {field.name: field for field in table.schema().fields}
    for field in wanted.fields:
        found = there.pop(field.name, None)
        if found is None:
            return f"it has no column {field.name!r}"
        has, needs = type_text(found.field_type), type_text(field.field_type)
        if has != needs:
            return f"its column {field.name!r} is {has}, and that of rows {needs}"
        if found.required:
            return f"its column {field.name!r} must have a value"
    required = [name for name, field in there.items() if field.required]
    if required:
        return f"its column {required[0]!r} must have a value"
    if not table.spec().is_unpartitioned():
        return f"it is partitioned by {', '.join(repr(each.name) for each in table.spec().fields)}"
    return None


def _pyiceberg() -> Any:
    # A key that is new has no row to delete.
    warnings.filterwarnings("ignore", "Delete operation did not match any records")
    try:
        return importlib.import_module("pyiceberg.exceptions")
    except ImportError as error:
        raise MissingExtraError(
            "missing-extra",
            "tables in the format of Iceberg need pyiceberg, which is not installed",
            fix=install_command("iceberg"),
        ) from error


def _errors() -> tuple[type[Exception], ...]:
    """Return what catalogs and stores of files raise; pyiceberg's errors share no class."""
    own = [each for each in vars(_pyiceberg()).values() if isinstance(each, type)]
    found: list[type[Exception]] = [each for each in own if issubclass(each, Exception)]
    # Only catalogs that are databases need it.
    with suppress(ImportError):
        found.append(importlib.import_module("sqlalchemy.exc").SQLAlchemyError)
    return (*found, OSError, ValueError)
