"""Print the results of statements: tables for users, JSON for programs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.text import Text

from penstock.cli.output import out, print_done, print_json, print_table
from penstock.cli.text_format import as_text
from penstock.model.sql.types import (
    BYTES,
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.casting import caster
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.python_values import sql_number
from penstock.sql.results import PrintResult, StatementResult, TableResult

#: Details that are long texts of several lines.
_TEXTS = ("sql", "topology")


def print_result(result: StatementResult, *, as_json: bool) -> None:
    """Print one result; queries that keep running are shown by ``view``."""
    if result.kind in ("push-query", "pull-query") or isinstance(result, PrintResult):
        return
    if as_json:
        print_json(json_of(result), indent=False)
    elif isinstance(result, TableResult):
        _print_details(result.details)
        print_table([_heading(name) for name in result.columns], map(_cells, result.rows))
        _print_texts(result.details)
    elif result.message:
        print_done(result.message)


def json_of(result: StatementResult) -> dict[str, Any]:
    """Return a result as plain data: rows as objects, details beside them."""
    found: dict[str, Any] = {"kind": result.kind, "sql": result.sql}
    if isinstance(result, TableResult):
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
        return found | dict(result.details) | {"rows": rows}
    named = {"message": result.message, "query_id": result.query_id, "source": result.source}
    return found | {name: value for name, value in named.items() if value}


def _print_details(details: Mapping[str, Any]) -> None:
    shown = {name: value for name, value in details.items() if name not in _TEXTS}
    width = max((len(_heading(name)) for name in shown), default=0)
    for name, value in shown.items():
        text = _listed(value, width + 2) if isinstance(value, list | tuple) else value
        line = Text(f"{_heading(name):<{width}}  ", style="bold")
        out().print(line.append("-" if text in (None, "") else str(text), style="not bold"))
    if shown:
        out().print()


def _listed(values: Sequence[object], indent: int) -> str:
    """Put names on one line and sentences on lines of their own."""
    texts = [str(value) for value in values]
    is_long = any(" " in text for text in texts)
    return f"\n{' ' * indent}".join(texts) if is_long else ", ".join(texts)


def _print_texts(details: Mapping[str, Any]) -> None:
    for name in _TEXTS:
        if details.get(name):
            out().print(Text(f"\n{_heading(name)}", style="bold"))
            out().print(Text(str(details[name]).rstrip()))


def _heading(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _cells(row: Sequence[Any]) -> list[Any]:
    return [_cell(value) for value in row]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return value if isinstance(value, int) else " ".join(str(value).split())


def plain_row(row: Mapping[str, Any], columns: Sequence[SourceColumn]) -> dict[str, Any]:
    """Return a row of a query as JSON values: dates as text, bytes in base64."""
    return {column.name: plain(row[column.name], column.type) for column in columns}


def plain(value: Any, type_: SqlType) -> Any:
    """Return a SQL value as a JSON value."""
    if value is None:
        return None
    match type_:
        case ArrayType(element):
            return [plain(item, element) for item in value]
        case MapType(_, inner):
            return {str(key): plain(item, inner) for key, item in value.items()}
        case StructType(fields):
            return {field.name: plain(value.get(field.name), field.type) for field in fields}
        case _:
            return _plain_scalar(value, type_)


def _plain_scalar(value: Any, type_: SqlType) -> Any:
    if type_ in (DATE, TIME, TIMESTAMP):
        return _date_text(sql_number(value), type_)
    if type_ == BYTES:
        return b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value


def _date_text(number: int, type_: SqlType) -> str | int:
    try:
        text: str = caster(type_, STRING)(number)
    except (ValueError, OverflowError):
        # Python has no date for this year.
        return number
    return text


class RowLines:
    """Format the rows of one query as lines, with the column names above the first row."""

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        self._columns = columns
        self._widths = [max(len(column.name), _WIDTHS.get(column.type, 12)) for column in columns]
        self._has_heading = False

    def lines(self, row: Mapping[str, Any]) -> list[Text]:
        texts = [] if self._has_heading else [self._line([c.name for c in self._columns], "bold")]
        self._has_heading = True
        values = plain_row(row, self._columns).values()
        return [*texts, self._line(["-" if v is None else as_text(v) for v in values], "")]

    def _line(self, cells: Sequence[str], style: str) -> Text:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, self._widths, strict=True)]
        return Text("  ".join(padded).rstrip(), style=style)


_WIDTHS: dict[SqlType, int] = {TIMESTAMP: 23, DATE: 10, TIME: 12, STRING: 16}
