"""Penstock in a notebook: a cell of SQL, and a table that follows a store.

``%load_ext penstock.notebook`` adds ``%%sql``, which returns the rows of its last SELECT; with a
name behind it they are in that variable. Topologies draw themselves: they have a picture.
"""

from __future__ import annotations

import heapq
import importlib
import time
from typing import TYPE_CHECKING, Any

from penstock.errors import StreamsError
from penstock.frames.frame import Frame

if TYPE_CHECKING:
    from penstock.sql import SqlEngine
    from penstock.sql.queries.local import LocalQueries


def store_table(store: Any, most: int = 20) -> Frame:
    """Return the first rows of ``streams.store(name)``, or of a store in the test driver."""
    rows = []
    for number, (key, value) in enumerate(store.all()):
        if number == most:
            break
        rows.append((key, value))
    return Frame(("key", "value"), rows)


class LiveTable:
    """A table in a notebook that follows a store.

    ``update`` draws it again, in the place where it was drawn first. ``follow`` does so until its
    time is over, or the kernel is interrupted.
    """

    def __init__(self, store: Any, most: int = 20) -> None:
        self._store = store
        self._most = most
        self._display = _ipython_display().display(store_table(store, most), display_id=True)

    def update(self) -> None:
        """Draw the rows that the store has now."""
        self._display.update(store_table(self._store, self._most))

    def follow(self, seconds: float = 10.0, every: float = 0.5) -> None:
        """Draw again and again, for so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.update()
            time.sleep(min(every, max(end - time.monotonic(), 0)))


class SqlCells:
    """The engine behind ``%%sql``: the cells of one notebook share streams, tables and rows.

    Queries run in this process, without Kafka and Spark. ``INSERT INTO … VALUES`` feeds them.
    """

    def __init__(self, engine: SqlEngine | None = None) -> None:
        self.engine: SqlEngine = engine or importlib.import_module("penstock.sql").SqlEngine()
        self._queries: LocalQueries | None = None

    def run(self, script: str) -> list[Frame | str]:
        """Run the statements of a cell, and return a table or a line of text for each."""
        results = self.engine.execute(script, answers=False)
        self._restart()
        return [self._shown(result) for result in results]

    def _restart(self) -> None:
        """Start the queries again with all rows so far: a cell may have added one."""
        if self._queries is not None:
            self._queries.close()
        self._queries = self.engine.local()

    def _shown(self, result: Any) -> Frame | str:
        assert self._queries is not None
        if result.kind == "push-query":
            return self._changes(result.sql)
        if result.kind == "pull-query":
            (answered,) = self.engine.execute(result.sql)
            return Frame(answered.columns, answered.rows)  # type: ignore[attr-defined]
        if hasattr(result, "rows"):
            return Frame(result.columns, result.rows)
        return str(result.message)

    def _changes(self, sql: str) -> Frame:
        """Return what a push query has so far: it would never end, and a cell has to."""
        assert self._queries is not None
        query = self.engine.query(sql)
        local: Any = importlib.import_module("penstock.sql.queries.local").LocalQuery(
            query.id, f"push-{query.id}", query.topology
        )
        topics = (self._queries.records(topic) for topic in sorted(local.topics))
        produced = []
        for record in heapq.merge(*topics, key=lambda each: each.timestamp):
            produced += local.pipe(*record[:5])
        local.close()
        rows = [list(row.values()) for row in query.rows_of(produced)]
        return Frame([column.name for column in query.columns], rows)


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%sql``; IPython calls this for ``%load_ext penstock.notebook``."""
    cells = SqlCells()

    def sql(line: str, cell: str) -> Frame | None:
        """Run a cell of SQL, show what each statement says, and return the rows of the last one.

        ``%%sql sales`` also puts these rows into the variable ``sales``.
        """
        last: Frame | None = None
        for shown in cells.run(cell):
            if isinstance(shown, Frame):
                if last is not None:
                    _ipython_display().display(last)
                last = shown
            elif shown:
                print(shown)
        if line.strip() and last is not None:
            shell.push({line.strip(): last})
        return last

    shell.register_magic_function(sql, "cell", "sql")
    shell.push({"sql_engine": cells.engine})


def _ipython_display() -> Any:
    try:
        return importlib.import_module("IPython.display")
    except ModuleNotFoundError:
        raise StreamsError(
            "missing-extra",
            "a live table needs IPython, which is not installed",
            fix="pip install ipykernel, or run the program in a notebook",
        ) from None
