"""Show a running query: rows as they arrive, until it ends, is stopped or reaches a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from penstock.cli.sql.prompt.present_rows import PresentRows
from penstock.cli.sql.prompt.row_table import RowLines, json_row, row_table
from penstock.cli.sql.prompt.screen import Screen
from penstock.client.async_client import AsyncClient
from penstock.client.async_queries import AsyncRowStream
from penstock.client.rows import Row

#: Rows that arrive within this time are printed together.
_BEAT_S = 0.1
#: A query that ends with fewer rows is printed as one table, with widths that fit all rows.
_ONE_TABLE = 10_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The number of rows, or the time, after which the prompt stops reading a query."""

    rows: int | None = None
    seconds: float | None = None


class QueryView:
    """Print the rows of one query. Ctrl-C ends the query and not the prompt."""

    def __init__(self, screen: Screen, limits: QueryLimits, *, is_push: bool) -> None:
        self._screen = screen
        self._limits = limits
        self._is_push = is_push
        self._count = 0
        #: How many rows a table has in the end.
        self._present: int | None = None
        self._is_stopped = False
        #: The cut that has answered, and its age; empty if the answer is not from a cut.
        self._cut = ""

    def run(
        self, client: Callable[[], AsyncClient], sql: str, properties: Mapping[str, Any]
    ) -> int:
        """Show a query until it is over, and return how many rows it had.

        Raises:
            PenstockError: the query was refused, or failed.
        """
        begun = time.monotonic()
        try:
            asyncio.run(self._show(client, sql, properties))
        except KeyboardInterrupt:
            self._is_stopped = True
        self._footer(time.monotonic() - begun)
        return self._count

    async def _show(
        self, client: Callable[[], AsyncClient], sql: str, properties: Mapping[str, Any]
    ) -> None:
        try:
            async with (
                asyncio.timeout(self._limits.seconds),
                client() as connected,
                connected.stream_query(sql, properties, has_deletions=self._is_push) as rows,
            ):
                self._cut = _cut_text(rows.cut)
                if self._is_push and rows.row_key and self._is_live:
                    await self._follow(rows, PresentRows(rows.row_key))
                elif self._is_push or self._screen.is_json:
                    await self._stream(rows)
                else:
                    await self._table(rows)
        except TimeoutError:
            self._is_stopped = True

    async def _table(self, rows: AsyncRowStream) -> None:
        """Print all rows of a query that ends as one table."""
        found: list[Row] = []
        async for row in _limited(rows, self._limits.rows):
            found.append(row)
            if len(found) == _ONE_TABLE:
                self._print_table(rows, found)
                found = []
        if found or not self._count:
            self._print_table(rows, found)

    def _print_table(self, rows: AsyncRowStream, found: list[Row]) -> None:
        screen = self._screen
        self._count += len(found)
        screen.print(
            row_table(
                rows.columns, found, screen.width,
                is_wrapped=screen.is_wrapped, is_expanded=screen.is_expanded,
                is_terminal=screen.is_terminal,
            )
        )  # fmt: skip

    async def _stream(self, rows: AsyncRowStream) -> None:
        """Print rows as they arrive, with a status line below them."""
        lines = RowLines(rows.columns, self._screen.width if self._screen.is_terminal else None)
        status = _Status(self._screen) if self._is_live else None
        if not self._screen.is_json:
            self._screen.print(lines.heading())
        try:
            async for batch in _batches(_limited(rows, self._limits.rows)):
                self._count += len(batch)
                self._print_rows(lines, batch)
                if status is not None:
                    status.update(self._count)
        finally:
            if status is not None:
                status.close()

    @property
    def _is_live(self) -> bool:
        return self._screen.is_terminal and not self._screen.is_json

    async def _follow(self, rows: AsyncRowStream, present: PresentRows) -> None:
        """Show the present rows of a table; each change is made in place, a deleted row goes."""
        status = _Status(self._screen)
        try:
            async for batch in _batches(_limited(rows, self._limits.rows)):
                self._count += len(batch)
                present.take(batch)
                status.update(self._count, self._present_table(rows, present))
        finally:
            status.close()
            self._screen.print(self._present_table(rows, present))
            self._present = len(present)

    def _present_table(self, rows: AsyncRowStream, present: PresentRows) -> RenderableType:
        screen = self._screen
        # Frame, heading, the line below, and the prompt.
        room = max(screen.console.height - 7, 1)
        shown = present.shown(room)
        table = row_table(
            rows.columns, shown, screen.width, is_wrapped=False, is_expanded=screen.is_expanded
        )
        left = len(present) - len(shown)
        return Group(table, Text(f"… and {left:,} more rows", style="dim")) if left else table

    def _print_rows(self, lines: RowLines, batch: list[Row]) -> None:
        for row in batch if self._screen.is_json else ():
            self._screen.json(json_row(row))
        if batch and not self._screen.is_json:
            for line in lines.lines(batch):
                self._screen.print(line)

    def _footer(self, seconds: float) -> None:
        if self._screen.is_json:
            return
        rows = f"{self._count:,} {'row' if self._count == 1 else 'rows'}"
        if self._present is not None:
            changes = f"{self._count:,} {'change' if self._count == 1 else 'changes'}"
            rows = f"{self._present:,} {'row' if self._present == 1 else 'rows'} after {changes}"
        end = ", query ended" if self._is_stopped else ""
        self._screen.note(f"{rows} ({seconds:.3f} s){self._cut}{end}")


def _cut_text(cut: int | None) -> str:
    """Return the number of a cut, and how long ago it was begun, which is what the number says."""
    if cut is None:
        return ""
    age = max(time.time() - cut / 1000, 0.0)
    return f", cut {cut} of {age:.1f} s ago"


async def _limited(rows: AsyncRowStream, limit: int | None) -> AsyncIterator[Row]:
    seen = 0
    async for row in rows:
        yield row
        seen += 1
        if seen == limit:
            return


async def _batches(rows: AsyncIterator[Row]) -> AsyncIterator[list[Row]]:
    """Yield the rows of each beat together; an empty list if there were none."""
    waiting: asyncio.Queue[Row | None] = asyncio.Queue(1_000)

    async def read() -> None:
        try:
            async for row in rows:
                await waiting.put(row)
        finally:
            await waiting.put(None)

    reader = asyncio.create_task(read())
    try:
        has_ended = False
        while not has_ended:
            batch: list[Row] = []
            try:
                async with asyncio.timeout(_BEAT_S):
                    while len(batch) < 500:
                        row = await waiting.get()
                        if row is None:
                            has_ended = True
                            break
                        batch.append(row)
            except TimeoutError:
                pass
            yield batch
        await reader
    finally:
        reader.cancel()


class _Status:
    """What changes in place: the rows of a table, and below them a line.

    The line says how many rows came, how fast, and how to end the query.
    """

    def __init__(self, screen: Screen) -> None:
        self._begun = time.monotonic()
        self._live = Live(console=screen.console, refresh_per_second=4, transient=True)
        self._live.start()
        self.update(0)

    def update(self, count: int, above: RenderableType | None = None) -> None:
        """Show the status line, below ``above`` if that is given."""
        seconds = time.monotonic() - self._begun
        rate = count / seconds if seconds > 1 else 0.0
        what = "rows" if above is None else "changes"
        text = f"● {count:,} {what}  {rate:,.1f}/s  {int(seconds)} s  Ctrl-C ends the query"
        line = Text(text, style="dim")
        self._live.update(line if above is None else Group(above, line))

    def close(self) -> None:
        self._live.stop()
