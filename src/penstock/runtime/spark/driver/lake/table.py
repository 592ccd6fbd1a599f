"""What a table of a lakehouse does for the driver; one module for each format implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file in the folder of a table."""

    name: str
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """What a table remembers of an append: the newest version of this name."""

    name: str
    version: int


class Table(Protocol):
    """A table of files. It takes the rows of each transaction at most once.

    Rows are appended. A table that is made with ``keys`` has present rows instead: a row takes the
    place of the one with the same values in these columns, and a row without a value deletes it.
    """

    @property
    def files_folder(self) -> str:
        """The folder for the files of rows; known after ``open``."""

    def open(self, schema: Mapping[str, Any]) -> None:
        """Create the table if it is not there; otherwise check that rows fit into it.

        Args:
            schema: the columns of rows, as Spark writes a struct in JSON.

        Raises:
            StreamsError: ``lake-table``: the table cannot take these rows as they are.
        """

    def append(
        self, files: Sequence[DataFile], transaction: Transaction, notes: Mapping[str, str]
    ) -> bool:
        """Make the rows of files part of the table; return whether that was still to be done.

        For present rows, each key is there once at most. The files are only read.

        Args:
            notes: what the history of the table says about this version.

        Raises:
            StreamsError: ``lake-unavailable``: it can be tried again.
        """

    def has(self, transaction: Transaction) -> bool:
        """Tell whether the table certainly has what was appended in a transaction."""

    def compact(self) -> None:
        """Put small files together, as far as the library can; it may fail without harm."""
