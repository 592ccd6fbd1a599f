"""The demo's view in a terminal: how much is written, and the most frequent words."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from penstock.cli.live_view import bar, bars
from penstock.cli.output import out
from penstock.cli.snapshot import Snapshot
from penstock.runtime.states import State

_WIDTH = 40


class Feeding(Protocol):
    """The progress of writing the text."""

    @property
    def lines(self) -> int: ...
    @property
    def written(self) -> int: ...


class DemoView:
    """Draw a picture again and again in the same place; the last one stays."""

    def __init__(self, feeding: Feeding) -> None:
        self._feeding = feeding
        self._live = Live(console=out(), refresh_per_second=10, transient=False)

    def __enter__(self) -> DemoView:
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
        self._live.update(demo_picture(self._feeding, snapshot))


def demo_picture(feeding: Feeding, snapshot: Snapshot) -> RenderableType:
    """Return the picture: bars for the lines written and counted, above the top words."""
    known = snapshot.metrics
    counted = 0 if known is None else known.records
    parts: list[RenderableType] = [
        _progress("written", feeding.written, feeding.lines, "blue"),
        _progress("counted", counted, feeding.lines, "green"),
        _status(snapshot),
    ]
    if snapshot.rows is not None:
        parts.append(Padding(bars(("word", snapshot.rows[1])), (1, 0, 0, 0)))
    return Padding(Group(*parts), (1, 0, 1, 1))


def _progress(what: str, done: int, total: int, style: str) -> Text:
    filled = bar(done, total, _WIDTH)
    return Text.assemble(
        (f"{what}  ", "dim"),
        (filled, style),
        ("·" * (_WIDTH - len(filled)), "dim"),
        f"  {done:,} of {total:,} lines",
    )


def _status(snapshot: Snapshot) -> Text:
    known = snapshot.metrics
    colour = "green" if snapshot.state is State.RUNNING else "yellow"
    text = Text.assemble(("state    ", "dim"), (snapshot.state.value, colour))
    if known is not None and known.batches:
        text.append(
            f"  batch {known.batches} took {known.last_batch_seconds:.2f} s"
            f"  {snapshot.records_per_second:,.0f} lines/s  lag {snapshot.lag}",
            "dim",
        )
    return text


def print_words(counts: Counter[str], count: int) -> None:
    """Print the top words as plain text."""
    for word, number in counts.most_common(count):
        print(f"{number:6,}  {word}")
