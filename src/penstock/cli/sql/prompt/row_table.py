"""Rows of a query as a table that follows the width of the terminal."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.client.rows import Column, Row
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TIME,
    TIMESTAMP,
    DecimalType,
    SqlType,
)

#: A narrower column is hard to read; rows are then shown as one block each.
_MIN_WIDTH = 6
NULL = "null"
TOMBSTONE = "<TOMBSTONE>"


def plain(value: Any) -> Any:
    """Return a value as JSON has it: dates as text, bytes in base64, decimals as numbers' text."""
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
        case date() | time():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case Decimal():
            return str(value)
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def json_row(row: Row) -> dict[str, Any]:
    """Return a row as a JSON object; a row that a table has lost is marked as deleted."""
    found = {name: plain(value) for name, value in row.as_dict().items()}
    return found | {"@tombstone": True} if row.is_deleted else found


def cell_text(value: Any) -> str:
    """Return a value as a cell shows it."""
    value = plain(value)
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return orjson.dumps(value).decode()
    return str(value)


def is_number(column: Column) -> bool:
    return isinstance(column.type, DecimalType) or column.type in (INTEGER, BIGINT, DOUBLE)


def row_table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    width: int,
    *,
    is_wrapped: bool = True,
    is_expanded: bool = False,
    is_terminal: bool = True,
) -> RenderableType:
    """Return rows as one table; if it cannot be that narrow, as one block for each row."""
    cells = [[cell_text(value) for value in row] for row in rows]
    if is_expanded or width < _least_width(columns, cells):
        return expanded(columns, cells)
    table = Table(
        box=box.ROUNDED if is_terminal else box.ASCII,
        header_style="bold",
        show_lines=False,
        width=None,
    )
    for column in columns:
        table.add_column(
            Text(column.name),
            justify="right" if is_number(column) else "left",
            overflow="fold" if is_wrapped else "ellipsis",
            no_wrap=not is_wrapped,
        )
    for row in cells:
        table.add_row(*map(_styled, row))
    return table


def _least_width(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> int:
    """Return the width below which some column would be too narrow to read."""
    least = 1
    for i, column in enumerate(columns):
        longest = max((cell_len(row[i]) for row in cells), default=0)
        least += 3 + min(max(longest, cell_len(column.name)), _MIN_WIDTH)
    return least


def expanded(columns: Sequence[Column], cells: Iterable[Sequence[str]]) -> RenderableType:
    """Return each row as lines of name and value."""
    width = max((cell_len(column.name) for column in columns), default=0)
    blocks: list[RenderableType] = []
    for number, row in enumerate(cells, 1):
        blocks.append(Text(f"─[ row {number} ]", style="dim"))
        for column, cell in zip(columns, row, strict=True):
            line = Text(f"{column.name:<{width}} │ ", style="bold")
            blocks.append(line.append(_styled(cell)))
    return Group(*blocks)


def _cells(row: Row) -> list[str]:
    """Return the cells of a row; a deleted one has ksqlDB's word where it has no value."""
    if not row.is_deleted:
        return [cell_text(value) for value in row]
    return [TOMBSTONE if value is None else cell_text(value) for value in row]


def _styled(cell: str) -> Text:
    return Text(cell, style="dim italic" if cell in (NULL, TOMBSTONE) else "not bold")


class RowLines:
    """Rows that arrive one by one, as lines below a heading.

    The widths of the columns follow from their types and share the width of the terminal; longer
    cells are cut. Without a width nothing is cut.
    """

    def __init__(self, columns: Sequence[Column], width: int | None) -> None:
        self._columns = columns
        self._is_cut = width is not None
        self._widths = _shared_widths(columns, width)

    def heading(self) -> Text:
        return self._line([Text(column.name) for column in self._columns], "bold underline")

    def lines(self, rows: Iterable[Row]) -> list[Text]:
        return [self._line([_styled(cell) for cell in _cells(row)]) for row in rows]

    def _line(self, cells: Sequence[Text], style: str = "") -> Text:
        line = Text(no_wrap=True)
        for i, (cell, width) in enumerate(zip(cells, self._widths, strict=True)):
            if self._is_cut:
                cell.truncate(width, overflow="ellipsis")
            pad = " " * (width - cell.cell_len)
            is_right = is_number(self._columns[i])
            line.append(pad if is_right else "").append(cell).append("" if is_right else pad)
            line.append("  " if i + 1 < len(cells) else "")
        line.stylize(style)
        if not style:
            line.rstrip()
        return line


def _shared_widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Return the width of each column; what is left of the terminal goes to the texts."""
    widths = [max(cell_len(each.name), _TYPE_WIDTHS.get(each.type, 16)) for each in columns]
    if width is None or not widths:
        return widths
    room = max(width - 2 * (len(widths) - 1), len(widths))
    while sum(widths) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _MIN_WIDTH:
            return widths
        widths[widest] -= 1
    flexible = [i for i, each in enumerate(columns) if each.type not in _TYPE_WIDTHS]
    for i in flexible:
        widths[i] = min(widths[i] + (room - sum(widths)) // (len(flexible)), _MAX_WIDTH)
    return widths


_MAX_WIDTH = 40
_TYPE_WIDTHS: dict[SqlType, int] = {
    BOOLEAN: 5,
    INTEGER: 8,
    BIGINT: 13,
    DOUBLE: 12,
    DATE: 10,
    TIME: 12,
    TIMESTAMP: 23,
}
