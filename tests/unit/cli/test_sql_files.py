"""Scripts of ``penstock sql run`` that run other scripts.

Exercises ``cli.sql.files``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.sql.files import read_script
from penstock.errors import InvalidArgumentError
from penstock.sql import SqlEngine

STREAM = "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON', PARTITIONS=1)"


def test_a_script_stands_where_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are those of the folder of the command; the last semicolon may be missing."""
    monkeypatch.chdir(tmp_path)
    Path("sources.sql").write_text(f"-- ours; RUN SCRIPT 'x';\n{STREAM}", "utf-8")
    Path("app.sql").write_text(
        "run script 'sources.sql';\nCREATE STREAM t AS SELECT v, 'RUN SCRIPT' AS w FROM s;", "utf-8"
    )
    engine = SqlEngine()
    engine.execute(read_script(tmp_path / "app.sql"))
    assert list(engine.sources) == ["S", "T"]


def test_a_script_without_others_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "app.sql"
    file.write_text(f"{STREAM};\nSELECT 'open", "utf-8")
    assert read_script(file) == file.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("RUN SCRIPT 'app.sql';", "that it runs itself"), ("RUN SCRIPT 'b.sql';", "cannot be read")],
)
def test_a_script_that_cannot_be_run_is_named(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.sql").write_text(text, "utf-8")
    with pytest.raises(InvalidArgumentError, match=problem):
        read_script(Path("app.sql"))
