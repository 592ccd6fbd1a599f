"""Show a running application: as a picture in a terminal, otherwise as lines or JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.cli.live.fitting_table import FittingTable
from penstock.cli.output import out, print_json
from penstock.cli.snapshot import Restore, Rows, Snapshot, share
from penstock.runtime.states import State

_LINE_EVERY_S = 5.0
_MOST_PARTITIONS = 12
_BAR = 24
COLOURS = {
    State.CREATED: "dim",
    State.REBALANCING: "yellow",
    State.RUNNING: "green",
    State.PENDING_SHUTDOWN: "yellow",
    State.NOT_RUNNING: "dim",
    State.PENDING_ERROR: "red",
    State.ERROR: "red",
}


class View(Protocol):
    """Show snapshots of an application inside a ``with`` block."""

    def __enter__(self) -> View: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, snapshot: Snapshot) -> None: ...


def view_of(title: str, *, as_json: bool) -> View:
    """Return a picture if standard output is a terminal; otherwise lines, or JSON if asked for."""
    if as_json:
        return LineView(title, as_json=True)
    return PictureView(title) if sys.stdout.isatty() else LineView(title, as_json=False)


class PictureView:
    """Draw a picture again and again in the same place; the program's prints appear above it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live = Live(console=out(), refresh_per_second=8, transient=False)

    def __enter__(self) -> PictureView:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(picture(self._title, snapshot))


class LineView:
    """Print a line when the state changes, and every few seconds while records are processed."""

    def __init__(self, title: str, *, as_json: bool) -> None:
        self._title = title
        self._as_json = as_json
        self._state: State | None = None
        self._waiting_for: str | None = None
        self._records = 0
        self._shown_at = 0.0

    def __enter__(self) -> LineView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        records = 0 if snapshot.metrics is None else snapshot.metrics.records
        is_due = snapshot.seconds - self._shown_at >= _LINE_EVERY_S and records != self._records
        waits_anew = snapshot.waiting_for != self._waiting_for
        if snapshot.state is self._state and not is_due and not waits_anew:
            return
        self._waiting_for = snapshot.waiting_for
        self._state, self._records, self._shown_at = snapshot.state, records, snapshot.seconds
        if self._as_json:
            print_json({"application": self._title} | snapshot.to_json(), indent=False)
        else:
            print(f"{snapshot.seconds:6.1f} s  {line(snapshot)}", flush=True)


def line(snapshot: Snapshot) -> str:
    """Return the state and, once there are any, the numbers as one line of text."""
    known = snapshot.metrics
    waits = [f"waiting: {snapshot.waiting_for}"] if snapshot.waiting_for else []
    if known is None:
        return "  ".join([snapshot.state.value, *waits])
    parts = [
        f"{snapshot.state.value:<16}",
        f"{known.records:,} records ({snapshot.records_per_second:,.0f}/s)",
        f"lag {snapshot.lag:,}",
        f"batch {known.batches} in {known.last_batch_seconds:.2f} s",
        *waits,
    ]
    parts += [
        f"restoring {each.store}-{each.partition} {share(each):.0%}" for each in snapshot.restores
    ]
    if known.restored_records:
        parts.append(f"restored {known.restored_records:,}")
    if snapshot.dropped:
        parts.append(f"dropped {snapshot.dropped:,}")
    if snapshot.column_errors:
        parts.append(f"column errors {snapshot.column_errors:,}")
    return "  ".join(parts)


def picture(title: str, snapshot: Snapshot) -> RenderableType:
    """Return the whole picture: state, numbers, lag per partition, drops, rows of a store."""
    parts: list[RenderableType] = [_headline(title, snapshot)]
    known = snapshot.metrics
    if snapshot.waiting_for is not None:
        parts.append(Text(f"waiting: {snapshot.waiting_for}", style="yellow"))
    if known is not None:
        parts.append(_numbers(snapshot))
        if snapshot.restores:
            parts.append(_restores(snapshot.restores))
        parts.append(_lag(known.lag))
        if known.dropped:
            parts.append(_drops(known.dropped))
        if known.column_errors:
            parts.append(_column_errors(known.column_errors))
    if snapshot.rows is not None:
        parts.append(bars(snapshot.rows))
    return Group(*(Padding(part, (0, 0, 1, 1)) for part in parts))


def _headline(title: str, snapshot: Snapshot) -> Text:
    minutes, seconds = divmod(int(snapshot.seconds), 60)
    return Text.assemble(
        (title, "bold"),
        "  ",
        (f"● {snapshot.state.value}", COLOURS[snapshot.state]),
        (f"  {minutes}:{seconds:02}", "dim"),
    )


def _numbers(snapshot: Snapshot) -> FittingTable:
    known = snapshot.metrics
    assert known is not None
    cells: Sequence[tuple[str, str]] = [
        ("records", f"{known.records:,}"),
        ("records/s", f"{snapshot.records_per_second:,.0f}"),
        ("lag", f"{snapshot.lag:,}"),
        ("batch", f"{known.batches:,}"),
        ("took", f"{known.last_batch_seconds:.2f} s"),
        ("sent", f"{known.records_sent:,}"),
        ("changelog", f"{known.changelog_records:,}"),
        ("restored", f"{known.restored_records:,}"),
        ("dropped", f"{snapshot.dropped:,}"),
        ("threads", f"{known.threads}"),
    ]
    return FittingTable((), [name for name, _ in cells], [[value for _, value in cells]])


def _restores(restores: Sequence[Restore]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("restoring", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in restores[:_MOST_PARTITIONS]:
        done = share(each)
        filled = Text(bar(done, 1), "blue").append("·" * (_BAR - int(done * _BAR)), "dim")
        table.add_row(f"{each.store}-{each.partition}", f"{done:.0%}", filled)
    return table


def _lag(lag: Mapping[tuple[str, int], int]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("partition", no_wrap=True)
    table.add_column("lag", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    most = max(lag.values(), default=0)
    worst = sorted(lag.items(), key=lambda item: (-item[1], item[0]))
    for (topic, number), waiting in sorted(worst[:_MOST_PARTITIONS]):
        style = "yellow" if waiting else "green"
        table.add_row(f"{topic}-{number}", f"{waiting:,}", Text(bar(waiting, most), style))
    if len(worst) > _MOST_PARTITIONS:
        rest = worst[_MOST_PARTITIONS:]
        table.add_row(f"… {len(rest)} more", f"{sum(n for _, n in rest):,}", "")
    return table


def _drops(dropped: Mapping[tuple[str, str], int]) -> Text:
    listed = ", ".join(f"{why} at {node}: {count:,}" for (node, why), count in dropped.items())
    return Text(f"dropped: {listed}", style="yellow")


def _column_errors(errors: Mapping[str, int]) -> Text:
    listed = ", ".join(f"{fault}: {count:,}" for fault, count in errors.items())
    text = f"slower after a fault in the column path (please report it): {listed}"
    return Text(text, style="yellow")


def bars(rows: Rows, *, style: str = "cyan") -> Table:
    """Return a table of the rows of a store, with a bar beside each number."""
    name, entries = rows
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(name, no_wrap=True, max_width=40)
    table.add_column("", justify="right", no_wrap=True, max_width=60)
    table.add_column("", no_wrap=True)
    numbers = [value for _, value in entries if is_number(value)]
    most = max(numbers, default=0)
    for key, value in entries:
        if is_number(value):
            table.add_row(key, f"{value:,}", Text(bar(value, most), style))
        else:
            table.add_row(key, str(value), "")
    return table


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def bar(value: float, most: float, width: int = _BAR) -> str:
    """Return a bar, exact to an eighth of a character; every value above 0 is visible."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(round(value / most * width * 8), 1)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
