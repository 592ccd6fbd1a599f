"""``penstock serve``: what it makes of its options. Real queries: ``tests/integration/spark``."""

from __future__ import annotations

import os
import signal
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli import connection
from penstock.cli import serve as command
from penstock.cli.main import app
from penstock.runtime.spark.driver import query_instance
from penstock.runtime.spark.exchange.stage_request import Restore

PROGRAM = """
import penstock as ps
builder = ps.StreamsBuilder()
builder.stream("in").group_by_key().count("counts")
config = {"application.id": "orders", "state.dir": "/tmp/of-the-application"}
"""


class Instance:
    """An instance whose copies are current after a moment."""

    made: dict[str, Any] | None = None

    def __init__(self, topology: Any, settings: dict[str, Any]) -> None:
        type(self).made = settings
        self._waits = iter(["copies are catching up", None])

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *exc: object) -> None: ...

    @property
    def waiting_for(self) -> str | None:
        return next(self._waits, None)

    def restoring(self) -> list[Any]:
        return []


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(connection, "running_project_broker", lambda: None)
    monkeypatch.setattr(query_instance, "QueryInstance", Instance)
    file = tmp_path / "app.py"
    file.write_text(PROGRAM)
    return str(file)


def test_it_answers_for_the_application_of_the_program(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copies are apart from the state of an instance on the same machine."""
    monkeypatch.setattr(command, "_LOOK_S", 0.01)
    stop = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM))
    stop.start()
    ended = CliRunner().invoke(
        app, ["serve", program, "--bootstrap", "127.0.0.1:1", "--server", "127.0.0.1:8099"]
    )
    assert ended.exit_code == 0, ended.output
    made = Instance.made
    assert made is not None
    assert made["application.id"] == "orders"
    assert made["application.server"] == "127.0.0.1:8099"
    assert made["state.dir"] == "/tmp/of-the-application/served"
    assert "answering for orders on http://127.0.0.1:8099" in ended.output


def test_without_a_broker_it_says_what_is_missing(program: str) -> None:
    """A private broker would have nothing to follow."""
    ended = CliRunner().invoke(app, ["serve", program, "--application-id", "other"])
    assert ended.exit_code == 1
    assert "--bootstrap" in ended.output


def test_a_bar_shows_how_far_the_copies_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts what this start has to read, not what is on disk already."""
    shown = StringIO()
    monkeypatch.setattr(command, "_LOOK_S", 0.3)
    monkeypatch.setattr(command, "err", lambda: Console(file=shown, force_terminal=True, width=100))
    command._show_progress(Behind(), threading.Event())
    assert "reading changelogs" in shown.getvalue()
    assert "30/40" in shown.getvalue()


class Behind(Instance):
    """Of 100 records 60 were on disk; 30 of the others have been read."""

    def __init__(self) -> None:
        self._waits = iter(["copies are catching up"] * 3)

    def restoring(self) -> list[Any]:
        return [Restore("counts", "t", 0, start=60, end=100, position=90, records=30)]
