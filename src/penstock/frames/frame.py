"""A table of rows that a notebook draws, and that becomes an Arrow, pandas or Polars table."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.extras import needing
from penstock.frames.columns import array

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: How many rows are drawn.
_MOST_SHOWN = 50


class Tabular(ABC):
    """Something with rows and columns. ``to_arrow`` needs no extra, the others ``frames``."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with real columns."""

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars frame.

        Raises:
            MissingExtraError: ``missing-extra``: Polars is not installed.
        """
        with needing("frames", "to_polars()"):
            polars: Any = importlib.import_module("polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame.

        Raises:
            MissingExtraError: ``missing-extra``: pandas is not installed.
        """
        with needing("frames", "to_pandas()"):
            importlib.import_module("pandas")
        return self.to_arrow().to_pandas()


class Frame(Tabular):
    """Rows under column names. A notebook shows it as a table, everything else as text.

    >>> Frame(("country", "n"), [("NO", 2)]).to_arrow().to_pylist()
    [{'country': 'NO', 'n': 2}]
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.columns = tuple(columns)
        self.rows = [tuple(row) for row in rows]

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table; a column whose values fit no common type is JSON text."""
        cells = ([row[number] for row in self.rows] for number in range(len(self.columns)))
        return pa.table([array(column, None) for column in cells], list(self.columns))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(str(name))}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in self.rows[:_MOST_SHOWN]
        )
        left = len(self.rows) - _MOST_SHOWN
        more = f"<p>{left:,} more rows</p>" if left > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __repr__(self) -> str:
        lines = ["\t".join(self.columns), *("\t".join(map(str, row)) for row in self.rows)]
        return "\n".join(lines)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
