"""Tables that hold the present rows of a ``KTable``: what both formats share.

New rows come in files as those that are appended do. The driver reads the files, and puts their
rows in the places of older ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.runtime.spark.driver.lake.table import DataFile

#: The property of a table that says what its rows are, and its value for present rows.
ROWS, PRESENT = "penstock.rows", "present"


def other_rows(properties: Mapping[str, str | None], *, is_present: bool) -> str | None:
    """Return why a table of changes cannot be one of present rows, or the other way round."""
    if (properties.get(ROWS) == PRESENT) == is_present:
        return None
    if is_present:
        return "its rows are appended, and these are to replace those of the same key"
    return "it has the present rows of a table, and these are to be appended"


def rows_of(folder: str, files: Sequence[DataFile]) -> pa.Table:
    """Read the rows of files; each key is in them once."""
    return pa.concat_tables(
        pq.read_table(Path(folder, file.name), partitioning=None) for file in files
    )


def forget(folder: str, files: Sequence[DataFile]) -> None:
    """Delete files whose rows the table has in files of its own."""
    for file in files:
        with suppress(OSError):
            Path(folder, file.name).unlink()
