"""Running queries as ``penstock sql`` shows them: ``sql.view``, as a picture and as lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.snapshot import Snapshot
from penstock.cli.sql.view import ScriptSnapshot, ScriptView, picture
from penstock.runtime.states import State


def metrics(records: int, lag: int = 0) -> Any:
    return SimpleNamespace(
        threads=1, batches=7, records=records, records_sent=900, changelog_records=80,
        restored_records=0, last_batch_seconds=0.25, last_batch_records=40, dropped={},
        lag={("in", 0): lag}, column_errors={},
    )  # fmt: skip


def look(seconds: float, records: int, lag: int = 0, state: State = State.RUNNING) -> Any:
    queries: Mapping[str, Snapshot] = {
        "Q_1": Snapshot(seconds, state, metrics(records, lag), 12.0),
        "Q_2": Snapshot(seconds, State.RUNNING, metrics(5)),
    }
    return ScriptSnapshot(seconds, State.RUNNING, queries)


def view(*, as_json: bool = False) -> ScriptView:
    return ScriptView("shop.sql", [], as_json=as_json)


def test_a_script_is_idle_when_all_its_queries_are() -> None:
    """Records are counted over all of them; a query that is being started counts none."""
    assert look(1.0, 10).is_idle
    assert not look(1.0, 10, lag=1).is_idle
    assert look(1.0, 10).records == 15
    starting = ScriptSnapshot(1.0, State.RUNNING, {"Q_1": Snapshot(1.0, State.REBALANCING)})
    assert (starting.is_idle, starting.records) == (False, 0)


def test_the_picture_has_a_line_for_each_query() -> None:
    """Beside the state and the time of the script."""
    console = Console(width=140)
    with console.capture() as capture:
        console.print(picture("shop.sql", look(75.0, 1_234, lag=3)))
    text = capture.get()
    for part in ("shop.sql", "● RUNNING", "1:15", "Q_1", "Q_2", "1,234", "0.25 s"):
        assert part in text


def test_lines_are_for_changes_and_for_progress_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They go to standard error: a pipe gets rows and nothing else."""
    shown = view()
    shown.show(look(0.0, 10))
    shown.show(look(1.0, 20))
    shown.show(look(2.0, 30, state=State.ERROR))
    shown.show(look(7.5, 40, state=State.ERROR))
    shown.show(look(13.0, 40, state=State.ERROR))
    out, err = capsys.readouterr()
    found = [(line.split()[0], *line.split()[2:4]) for line in err.splitlines()]
    first = [("0.0", "Q_1", "RUNNING"), ("0.0", "Q_2", "RUNNING")]
    then = [("2.0", "Q_1", "ERROR"), ("7.5", "Q_1", "ERROR"), ("7.5", "Q_2", "RUNNING")]
    assert (out, found) == ("", first + then)


def test_as_json_every_line_names_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    """One object per line."""
    view(as_json=True).show(look(0.0, 10))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], line["records"]) for line in lines] == [("Q_1", 10), ("Q_2", 5)]
