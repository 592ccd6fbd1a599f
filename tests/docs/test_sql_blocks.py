"""Every SQL block of every page is planned by the real engine, and SQL tests on pages pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.sql import SqlEngine
from tests.docs.pages import Block, blocks
from tests.docs.scopes import sql_sources

PAGES = blocks("sql")
#: What pages switch on before their statements.
ALLOWED = {
    "ksql.functions.python.enabled": "true",
    "ksql.logging.processing.stream.auto.create": "true",
}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_statements_of_a_page_are_planned(page: str) -> None:
    """The blocks of a page are one script; an error names the line at fault."""
    engine = SqlEngine(ALLOWED)
    engine.execute(sql_sources(page))
    for block in planned(page):
        engine.planned(block.text)
        engine.execute(block.text)


@pytest.mark.parametrize("page", [page for page in sorted(PAGES) if "--@test" in str(PAGES[page])])
def test_sql_tests_on_pages_pass(page: str, tmp_path: Path) -> None:
    """What a page shows as a test is one."""
    for number, block in enumerate(PAGES[page]):
        if "--@test" in block.text:
            file = tmp_path / f"{number}.sql"
            file.write_text(block.text, encoding="utf-8")
            result = CliRunner().invoke(app, ["sql", "test", str(file)])
            assert result.exit_code == 0, (block.place, result.output)


def planned(page: str) -> list[Block]:
    return [block for block in PAGES[page] if block.is_run and "--@test" not in block.text]
