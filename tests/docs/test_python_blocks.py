"""Every Python block of every page runs, and prints what the page says."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

import pytest

from tests.docs.pages import Block, blocks
from tests.docs.scopes import python_scope

#: Pages with a test of their own, which also runs their blocks.
ELSEWHERE = ("reference/sql/", "how-to/serialization-and-schemas.md")
PAGES = {page: each for page, each in blocks("python").items() if not page.startswith(ELSEWHERE)}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_blocks_of_a_page_run_one_after_the_other(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block goes on where the one before it ended; a comment behind a print is its output."""
    scope = python_scope(page)
    for block in PAGES[page]:
        # What cannot run is at least Python; `async with` may stand outside of functions there.
        flags = 0 if block.is_run else ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        program = compile(block.text, block.place, "exec", flags)
        if not block.is_run:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            exec(program, scope)
        printed = capsys.readouterr().out.splitlines()
        assert missing(promised(block), printed) == [], (block.place, printed)
    close_drivers(scope)


def promised(block: Block) -> list[str]:
    """Return the comments that stand behind a print."""
    return re.findall(r"^\s*print\(.*\)  # (.*)$", block.text, re.MULTILINE)


def missing(wanted: list[str], printed: list[str]) -> list[str]:
    """Return the promised lines that were not printed, in this order."""
    rest = iter(printed)
    return [line for line in wanted if line not in rest]


def close_drivers(scope: dict[str, Any]) -> None:
    for value in scope.values():
        if type(value).__name__ == "TopologyTestDriver":
            value.close()
