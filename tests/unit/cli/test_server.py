"""``penstock server``: settings and their order, and what it says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.server.command import merged_settings


def test_settings_have_an_order(tmp_path: Path) -> None:
    """--bootstrap wins over -c, and that over the file."""
    file = tmp_path / "ksql-server.properties"
    file.write_text("bootstrap.servers=file:1\nksql.service.id=file_\n# no\n", encoding="utf-8")
    given = ["ksql.service.id=given_", "bootstrap.servers=given:1"]
    assert merged_settings(file, given, "option:1") == {
        "bootstrap.servers": "option:1",
        "ksql.service.id": "given_",
    }
    assert merged_settings(file, None, None)["bootstrap.servers"] == "file:1"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["server", "-c", "nonsense"], 2, "NAME=VALUE"),
        (["server", "--config", "/no/such/file"], 2, "does not exist"),
        (["server", "--queries-file", "/no/such/file"], 2, "does not exist"),
        (["server", "-c", "listeners=http://0.0.0.0:8088", "-b", "x:1"], 1, "open-server"),
        (["server", "-c", "listeners=nonsense", "-b", "x:1"], 1, "bad-setting"),
        (["server", "restore-commands", "-b", "x:1"], 1, "no-backup"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], code: int, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.chdir(tmp_path)
    if "restore-commands" in arguments:
        arguments = [*arguments, "-c", f"state.dir={tmp_path}"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code
    assert word in result.output
