"""Show running queries: one line each below the rows in a terminal, otherwise lines or JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from penstock.cli.live.fitting_table import FittingTable
from penstock.cli.live_view import COLOURS
from penstock.cli.output import err, out, print_json
from penstock.cli.snapshot import Snapshot, Streams, Watch
from penstock.cli.sql.feeds import Feed
from penstock.runtime.states import State

_LINE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class ScriptSnapshot:
    """Snapshots of all queries of a script at one moment, by query id."""

    seconds: float
    state: State
    queries: Mapping[str, Snapshot]

    @property
    def is_idle(self) -> bool:
        """Return whether no query has input left."""
        return self.state is State.RUNNING and all(s.is_idle for s in self.queries.values())

    @property
    def records(self) -> int:
        known = [s.metrics for s in self.queries.values()]
        return sum(metrics.records for metrics in known if metrics is not None)


class RunningQueries(Protocol):
    """The applications that have been started, by query id."""

    @property
    def state(self) -> State: ...
    @property
    def streams(self) -> Mapping[str, Streams]: ...


class ScriptWatch:
    """Watch every application of a script, as soon as it has been started."""

    def __init__(self, running: RunningQueries) -> None:
        self._running = running
        self._begun = time.monotonic()
        self._watches: dict[str, Watch] = {}

    def __enter__(self) -> ScriptWatch:
        return self

    def __exit__(self, *exc: object) -> None:
        for watch in self._watches.values():
            watch.__exit__(*exc)

    @property
    def latest(self) -> ScriptSnapshot:
        for name, application in list(self._running.streams.items()):
            if name not in self._watches:
                self._watches[name] = Watch(application, interval_s=0.8).__enter__()
        looks = {name: watch.latest for name, watch in self._watches.items()}
        return ScriptSnapshot(time.monotonic() - self._begun, self._running.state, looks)


class ScriptView:
    """Print rows to standard output as they arrive, and show the state of the queries.

    In a terminal the state is drawn below the rows. Otherwise it is printed as lines to standard
    error, so that a pipe gets only rows.
    """

    def __init__(self, title: str, feeds: Iterable[Feed], *, as_json: bool) -> None:
        self._title = title
        self._feeds = feeds
        self._as_json = as_json
        is_picture = sys.stdout.isatty() and not as_json
        self._live = Live(console=out(), refresh_per_second=5) if is_picture else None
        self._states: dict[str, State] = {}
        self._records = -1
        self._shown_at = 0.0

    def __enter__(self) -> ScriptView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: ScriptSnapshot) -> None:
        self._print_rows()
        if self._live is not None:
            self._live.update(picture(self._title, snapshot))
        else:
            self._print_lines(snapshot)

    def _print_rows(self) -> None:
        console = out() if self._live is None else self._live.console
        for feed in list(self._feeds):
            for lines, data in feed.take():
                if self._as_json:
                    print_json(data, indent=False)
                else:
                    for line in lines:
                        console.print(line, soft_wrap=True)

    def _print_lines(self, snapshot: ScriptSnapshot) -> None:
        states = {name: look.state for name, look in snapshot.queries.items()}
        is_due = snapshot.seconds - self._shown_at >= _LINE_EVERY_S
        if states == self._states and not (is_due and snapshot.records != self._records):
            return
        changed = [name for name, state in states.items() if self._states.get(name) is not state]
        self._states, self._records, self._shown_at = states, snapshot.records, snapshot.seconds
        for name in changed or states:
            self._print_line(name, snapshot.queries[name])

    def _print_line(self, name: str, look: Snapshot) -> None:
        if self._as_json:
            print_json({"query": name} | look.to_json(), indent=False)
            return
        numbers = "  ".join(f"{heading} {cell}" for heading, cell in _numbers(look))
        text = f"{look.seconds:6.1f} s  {name}  {look.state.value}  {numbers}"
        err().print(Text(text.rstrip()), soft_wrap=True)


def picture(title: str, snapshot: ScriptSnapshot) -> RenderableType:
    """Return the picture: the state of the script, and a line of numbers for each query."""
    minutes, seconds = divmod(int(snapshot.seconds), 60)
    headline = Text.assemble(
        (title, "bold"),
        "  ",
        (f"● {snapshot.state.value}", COLOURS[snapshot.state]),
        (f"  {minutes}:{seconds:02}", "dim"),
    )
    parts: list[RenderableType] = [headline]
    if snapshot.queries:
        parts.append(_table(snapshot.queries))
    return Group(*(Padding(part, (0, 0, 1, 1)) for part in parts))


def _table(queries: Mapping[str, Snapshot]) -> FittingTable:
    cells = {name: dict(_numbers(look)) for name, look in queries.items()}
    # Column errors are rare: their column is there only if there are some.
    headings = [
        heading
        for heading in _HEADINGS
        if heading in _ALWAYS or any(each.get(heading) for each in cells.values())
    ]
    rows: list[list[Text | str]] = [
        [
            name,
            Text(look.state.value, style=COLOURS[look.state]),
            *(cells[name].get(heading, "") for heading in headings),
        ]
        for name, look in queries.items()
    ]
    return FittingTable(("query", "state"), headings, rows)


_ALWAYS = ("rows", "rows/s", "lag", "sent", "batch", "took", "dropped")
_HEADINGS = (*_ALWAYS, "column errors")


def _numbers(look: Snapshot) -> Sequence[tuple[str, str]]:
    known = look.metrics
    if known is None:
        return ()
    return (
        ("rows", f"{known.records:,}"),
        ("rows/s", f"{look.records_per_second:,.0f}"),
        ("lag", f"{look.lag:,}"),
        ("sent", f"{known.records_sent:,}"),
        ("batch", f"{known.batches:,}"),
        ("took", f"{known.last_batch_seconds:.2f} s"),
        ("dropped", f"{look.dropped:,}"),
        ("column errors", f"{look.column_errors:,}" if look.column_errors else ""),
    )
