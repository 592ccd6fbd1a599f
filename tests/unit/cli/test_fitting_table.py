"""Tables of the live views at the widths of real terminals."""

from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from penstock.cli.live.fitting_table import FittingTable
from penstock.cli.live_view import picture
from penstock.cli.snapshot import Snapshot
from penstock.cli.sql.view import ScriptSnapshot
from penstock.cli.sql.view import picture as script_picture
from penstock.runtime.states import State

NUMBERS: Any = SimpleNamespace(
    threads=2, batches=7_000, records=1_234_567, records_sent=900_000, changelog_records=80_000,
    restored_records=0, last_batch_seconds=0.25, last_batch_records=40, dropped={},
    lag={("words", 0): 3}, column_errors={},
)  # fmt: skip
RUNNING = Snapshot(75.0, State.RUNNING, NUMBERS, 411.6)


def drawn(what: RenderableType, width: int) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


@pytest.mark.parametrize("width", [200, 80, 60])
def test_every_heading_of_a_run_is_whole(width: int) -> None:
    """A terminal has 80 columns, unless somebody has made it larger."""
    text = drawn(picture("shop", RUNNING), width)
    names = "records records/s lag batch took sent changelog restored dropped threads"
    for name in names.split():
        assert f" {name} " in f" {' '.join(text.split())} "
    assert "…" not in text
    assert "1,234,567" in text


@pytest.mark.parametrize("width", [120, 80, 50])
def test_every_heading_of_a_script_is_whole(width: int) -> None:
    text = drawn(
        script_picture("s", ScriptSnapshot(1.0, State.RUNNING, {"CTAS_SALES_0": RUNNING})), width
    )
    for name in ("query", "state", "rows/s", "dropped", "took"):
        assert name in text
    assert "…" not in text
    assert "column errors" not in text


def test_labels_begin_every_part() -> None:
    table = FittingTable(("q",), ("one", "two", "three"), [["a", "1", Text("2"), "3"]])
    assert [line.split() for line in drawn(table, 12).splitlines()] == [
        ["q", "one", "two"], ["a", "1", "2"], ["q", "three"], ["a", "3"],
    ]  # fmt: skip
