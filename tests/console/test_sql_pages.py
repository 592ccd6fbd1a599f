"""The pages of an SQL server in a real browser: who can use them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.browser import NARROW, WIDE, Open, violations
from tests.console.pictures import SQL_PAGES, TOKEN, sql_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with sql_server() as url:
        yield f"{url}/console/"


@pytest.mark.parametrize("page", SQL_PAGES)
def test_every_page_can_be_used_by_keyboard_and_screen_reader(
    page: str, open_page: Open, server: str
) -> None:
    """axe-core finds nothing, in both colours and both widths; no page is wider than its screen."""
    place, there = SQL_PAGES[page]
    for size, colours in ((WIDE, "light"), (NARROW, "dark")):
        shown = open_page(f"{server}#token={TOKEN}", size, colours)
        shown.goto(f"{server}#/{place}")
        shown.wait_for_selector(there)
        assert violations(shown) == []
        assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_query_leads_to_its_own_pages(open_page: Open, server: str) -> None:
    """What an application shows, each query of a server shows, too."""
    shown = open_page(f"{server}#token={TOKEN}")
    shown.goto(f"{server}#/queries")
    shown.click(".query h2 a")
    shown.wait_for_selector("text=All is well")
    shown.click("nav >> text=Journey")
    shown.click("tr:has-text('c-0147') a")
    shown.wait_for_selector(".step:has-text('KSTREAM-JOIN-0000000006')")
