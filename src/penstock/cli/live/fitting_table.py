"""A table that is broken into several ones, below each other, if the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 2


@dataclass(frozen=True, slots=True)
class FittingTable:
    """Show every column whole; columns that do not fit side by side go below.

    Args:
        labels: headings of the columns that every part of the table begins with.
        headings: headings of the other columns, which are aligned to the right.
        rows: one cell for each label and heading.
    """

    labels: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[Text | str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for columns in self._parts(options.max_width):
            yield self._table(columns)

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Yield the places of the columns of each part, after those of the labels."""
        first = len(self.labels)
        label_width = sum(self._width(place) for place in range(first))
        part: list[int] = []
        used = label_width
        for place in range(first, first + len(self.headings)):
            # The gap after the last column need not fit.
            if part and used + self._width(place) - _GAP > width:
                yield part
                part, used = [], label_width
            part.append(place)
            used += self._width(place)
        if part:
            yield part

    def _width(self, place: int) -> int:
        heading = [*self.labels, *self.headings][place]
        return max([len(heading), *(len(row[place]) for row in self.rows)]) + _GAP

    def _table(self, columns: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        for name in self.labels:
            table.add_column(name, no_wrap=True)
        names = [*self.labels, *self.headings]
        for place in columns:
            table.add_column(names[place], justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*row[: len(self.labels)], *(row[place] for place in columns))
        return table
