"""A table in the format of Delta Lake, written with ``deltalake`` (delta-rs).

Its log is the truth about the table: a file of rows is part of the table when a version of the log
names it. A version also has the number of the last transaction of each application.
"""

from __future__ import annotations

import importlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import MissingExtraError, StreamsError
from penstock.extras import install_command
from penstock.runtime.spark.driver.lake.present_rows import (
    PRESENT,
    ROWS,
    forget,
    other_rows,
    rows_of,
)
from penstock.runtime.spark.driver.lake.table import DataFile, Transaction

log = logging.getLogger(__name__)

#: What a plain append would not do, by the beginning of a property of the table.
_NOT_KEPT = ("delta.constraints.", "delta.columnMapping.mode", "delta.identity.")


class DeltaTable:
    """Appends files to one table, each transaction at most once."""

    def __init__(self, folder: str, at: str | None = None, keys: Sequence[str] = ()) -> None:
        self.folder = folder
        self._at = at
        self._keys = keys
        self._delta = _deltalake()

    @property
    def files_folder(self) -> str:
        return self.folder

    def open(self, schema: Mapping[str, Any]) -> None:
        """Create the table if it is not there; see ``Table.open``."""
        try:
            wanted = self._delta.Schema.from_json(json.dumps(schema))
            table = self._delta.DeltaTable.create(
                self.folder,
                schema=wanted,
                mode="ignore",
                configuration={ROWS: PRESENT} if self._keys else None,
                raise_if_key_not_exists=False,
            )
            there = table.metadata().configuration
            misfit = _misfit(table, wanted) or other_rows(there, is_present=bool(self._keys))
        except (self._delta.exceptions.DeltaError, OSError, ValueError) as error:
            raise self._refused(str(error), "check the folder, and who may write there") from error
        if misfit is not None:
            raise self._refused(misfit, "name another folder, or give rows the table's types")

    def append(
        self, files: Sequence[DataFile], transaction: Transaction, notes: Mapping[str, str]
    ) -> bool:
        """Make files part of the table, once; see ``Table.append``."""
        exceptions, now_ms = self._delta.exceptions, time.time_ns() // 1_000_000
        try:
            table = self._delta.DeltaTable(self.folder)
            if self._has(table, transaction):
                return False
            made = self._delta.Transaction(transaction.name, transaction.version, now_ms)
            # Two drivers may have come to this line. The table has the version that both have
            # read, so the log refuses the second one: the first has the same name.
            how = self._delta.CommitProperties(custom_metadata=dict(notes), app_transactions=[made])
            if self._keys:
                self._merge(table, files, how)
            else:
                added = [self._add(file, now_ms) for file in files]
                table.create_write_transaction(
                    added, "append", table.schema(), commit_properties=how
                )
        except exceptions.TableNotFoundError as error:
            raise self._refused(
                "the table was deleted while the application ran",
                "start the application again: it makes a new table",
            ) from error
        except (exceptions.DeltaError, OSError) as error:
            if self.has(transaction):
                return False
            raise StreamsError(
                "lake-unavailable",
                f"Delta table {self.folder!r} could not be written: {error}",
                fix="nothing is lost: the rows wait, and are written when the table is there again",
                at=self._at,
            ) from error
        return True

    def has(self, transaction: Transaction) -> bool:
        """Tell whether the table certainly has what was appended in a transaction."""
        try:
            return self._has(self._delta.DeltaTable(self.folder), transaction)
        except (self._delta.exceptions.DeltaError, OSError):
            return False

    def _merge(self, table: Any, files: Sequence[DataFile], how: Any) -> None:
        rows = rows_of(self.folder, files)
        same = [f"(there.{key} IS NOT DISTINCT FROM new.{key})" for key in self._keys]
        merge = table.merge(
            rows,
            " AND ".join(same),
            source_alias="new",
            target_alias="there",
            # Statistics of the new rows say which files of the table cannot have them.
            streamed_exec=False,
            commit_properties=how,
        )
        merge = merge.when_matched_delete("new.value IS NULL").when_matched_update_all()
        merge.when_not_matched_insert_all("new.value IS NOT NULL").execute()
        forget(self.folder, files)

    def compact(self) -> None:
        """Put small files together; somebody who deletes rows at the same time comes first."""
        try:
            self._delta.DeltaTable(self.folder).optimize.compact()
        except (self._delta.exceptions.DeltaError, OSError) as error:
            log.warning("files of Delta table %s were not put together: %s", self.folder, error)

    @staticmethod
    def _has(table: Any, transaction: Transaction) -> bool:
        newest = table.transaction_version(transaction.name)
        return newest is not None and newest >= transaction.version

    def _add(self, file: DataFile, now_ms: int) -> Any:
        stats = json.dumps({"numRecords": file.rows})
        return self._delta.transaction.AddAction(file.name, file.bytes, {}, now_ms, True, stats)

    def _refused(self, why: str, fix: str) -> StreamsError:
        return StreamsError(
            "lake-table",
            f"rows cannot be written to Delta table {self.folder!r}: {why}",
            fix=fix,
            at=self._at,
        )


def _misfit(table: Any, wanted: Any) -> str | None:
    """Return why rows with the wanted columns cannot be appended as they are."""
    there = {field.name: field for field in table.schema().fields}
    for field in wanted.fields:
        found = there.pop(field.name, None)
        if found is None:
            return f"it has no column {field.name!r}"
        if found.type != field.type:
            return f"its column {field.name!r} is {found.type}, and that of rows {field.type}"
    required = [name for name, field in there.items() if not field.nullable]
    if required:
        return f"its column {required[0]!r} must have a value"
    details = table.metadata()
    if details.partition_columns:
        return f"it is partitioned by {', '.join(map(repr, details.partition_columns))}"
    kept = [name for name in details.configuration if name.startswith(_NOT_KEPT)]
    return f"it has the property {kept[0]!r}" if kept else None


def _deltalake() -> Any:
    try:
        found = importlib.import_module("deltalake")
        importlib.import_module("deltalake.transaction")
        importlib.import_module("deltalake.exceptions")
    except ImportError as error:
        raise MissingExtraError(
            "missing-extra",
            "tables in the format of Delta Lake need deltalake, which is not installed",
            fix=install_command("delta"),
        ) from error
    return found
