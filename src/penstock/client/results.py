"""The rows of a query that has ended, as Python values, Arrow, pandas or polars."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from penstock.client.errors import ClientError
from penstock.client.rows import Columns, Row


@dataclass(frozen=True, slots=True)
class QueryResult(Sequence[Row]):
    """All rows of a query, in the order in which the server sent them.

    It is a sequence of ``Row``. ``to_arrow``, ``to_pandas`` and ``to_polars`` load their library
    when they are called.
    """

    columns: Columns
    rows: tuple[Row, ...]
    query_id: str | None = None
    #: The number of the cut of all queries that the rows are from; None without a cut.
    cut: int | None = None

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return each row as a dictionary."""
        return [row.as_dict() for row in self.rows]

    def to_arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``."""
        return _needed("penstock.client.arrow_tables").arrow_table(self.columns, self.rows)

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``.

        Columns of whole numbers with a NULL have pandas' nullable type, so that no number
        becomes a float.
        """
        pandas = _needed("pandas")
        nullable = {"int32": pandas.Int32Dtype(), "int64": pandas.Int64Dtype()}

        def dtype(type_: Any) -> Any:
            return nullable.get(str(type_))

        table = self.to_arrow()
        with_nulls = [name for name in table.column_names if table[name].null_count]
        if not with_nulls:
            return table.to_pandas()
        return table.to_pandas(types_mapper=dtype)

    def to_polars(self) -> Any:
        """Return the rows as a ``polars.DataFrame``."""
        return _needed("polars").from_arrow(self.to_arrow())


def _needed(module: str) -> Any:
    """Import an optional package.

    Raises:
        ClientError: ``missing-package`` with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = error.name or module
        raise ClientError(
            "missing-package", f"this result needs {name!r}", fix=f"pip install {name}"
        ) from None
