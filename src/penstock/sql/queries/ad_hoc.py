"""Ad-hoc queries: one SELECT in DuckDB's dialect over the present rows of streams and tables."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import MissingExtraError
from penstock.extras import install_command
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.functions.column_functions import user_type
from penstock.sql.queries.push import Row

#: Returns the columns and the present rows of a stream or table, by its name in the catalog.
RowsOf = Callable[[str], tuple[Sequence[SourceColumn], list[Row]]]


def ad_hoc(sql: str, sources: Mapping[str, object], rows_of: RowsOf) -> pa.Table:
    """Answer a query with DuckDB; return its rows as an Arrow table.

    Only the streams and tables that the query names are read. DuckDB compares names without
    regard to case.

    Args:
        sources: the names of the catalog.

    Raises:
        AnalysisError: ``ad-hoc-query``, with what DuckDB says about the query.
        MissingExtraError: ``missing-extra``, if DuckDB is not installed.
    """
    duckdb = _duckdb()
    with duckdb.connect() as connection:
        # Otherwise DuckDB could read a variable of the calling program for a misspelled table.
        connection.execute("SET python_enable_replacements = false")
        # Times in SQL are in UTC, whatever the time zone of the program is.
        connection.execute("SET TimeZone = 'UTC'")
        try:
            for name in named_in(sql, sources):
                connection.register(name, table_of(*rows_of(name)))
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise _refused(error, sources) from error


def named_in(sql: str, sources: Iterable[str]) -> list[str]:
    """Return the sources whose names occur in a query; case is ignored.

    A column or a text may have the name of a source. Then the source is read although it is not
    needed.
    """
    return [
        name
        for name in sources
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, flags=re.IGNORECASE)
    ]


def table_of(columns: Sequence[SourceColumn], rows: list[Row]) -> pa.Table:
    """Return rows as an Arrow table, with the types that the columns have in SQL."""
    fields = [pa.field(column.name, user_type(column.type)) for column in columns]
    arrays = [
        pa.array([row[field.name] for row in rows], field.type, from_pandas=False)
        for field in fields
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _refused(error: Exception, sources: Mapping[str, object]) -> AnalysisError:
    text = str(error)
    fix = f"the catalog has {', '.join(sources) or 'no stream and no table'}"
    if "does not exist" in text:
        word = text.partition("name ")[2].partition(" ")[0].strip("\"'").upper()
        fix = did_you_mean(word, sources) or fix
    return AnalysisError("ad-hoc-query", f"DuckDB refuses the query: {text}", fix=fix)


def _duckdb() -> Any:
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:
        raise MissingExtraError(
            "missing-extra",
            "ad-hoc queries need DuckDB, which is not installed",
            fix=install_command("duckdb"),
        ) from error
