"""Make the pictures of the console's documentation: ``python -m tests.console.pictures``.

Each page is taken over a made-up application, in light and dark, 1440 and 390 pixels wide.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.server.application import serve
from penstock.server.console.console_service import ConsoleService
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.console.browser import NARROW, WIDE, chromium_arguments
from tests.console.fake_application import FakeApplication, Mood
from tests.unit.server.memory import new_node
from tests.unit.serving.memory_application import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "assets" / "console"
COLOURS = ("light", "dark")
SIZES = (WIDE, NARROW)

#: By the name of a picture: what is shown, and what has to be there before it is taken.
PAGES = {
    "topology": ("topology/watchdog", ".node-panel .source"),
    "stores": ("stores/orders-per-country?key=de", ".history li"),
    "journey": ("journey/orders/2/4", ".steps .step"),
    "changes": ("changes", ".facts-list"),
    "failed": ("failed?record=0:7", ".record-panel textarea"),
    # The last ones: by then the server has seen a while that their curves can show.
    "tasks": ("tasks", "canvas.heat"),
    "now": ("now", ".headline h2"),
}
SQL_PAGES = {
    "sql": ("sql", ".cm-content"),
    "queries": ("queries", ".query"),
}
_STATEMENTS = """
CREATE STREAM orders (id VARCHAR KEY, country VARCHAR, amount DOUBLE)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=6);
CREATE TABLE per_country AS
  SELECT country, COUNT(*) AS orders, SUM(amount) AS revenue
  FROM orders GROUP BY country EMIT CHANGES;
CREATE STREAM large_orders AS SELECT * FROM orders WHERE amount > 100;
"""
_STATEMENT = "DESCRIBE per_country;"
TOKEN = "pictures"
#: A page draws its curves from what it has seen since it was opened.
_LOOKS_MS = 2_500
_QUALITY = 82


def names() -> list[str]:
    """Return the names of all picture files."""
    return [
        file_name(page, colours, size)
        for page in (*PAGES, *SQL_PAGES)
        for colours in COLOURS
        for size in SIZES
    ]


def file_name(page: str, colours: str, size: tuple[int, int]) -> str:
    return f"{page}-{colours}-{size[0]}.webp"


@contextmanager
def application() -> Iterator[str]:
    """Serve an application that has had a failure, and yield its address."""
    options = ServerOptions(credentials=Credentials.of(full_tokens=(TOKEN,)))
    with ServingServer(FakeApplication(Mood.WELL), options) as server:
        yield server.url


@contextmanager
def sql_server() -> Iterator[str]:
    """Serve some queries, and yield the address."""
    node, runtime = new_node()
    options = ServerOptions(credentials=Credentials.of(full_tokens=(TOKEN,)))
    service = ConsoleService(node, options, lambda streams: FakeApplication())
    server = serve(node, options, [service])
    with node:
        node.execute(_STATEMENTS)
        until(lambda: len(runtime.applications) == 2)
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


def take(browser: Browser, url: str, pages: dict[str, tuple[str, str]], folder: Path) -> None:
    """Write the pictures of some pages of a server."""
    for name, (place, there) in pages.items():
        for colours in COLOURS:
            for size in SIZES:
                page = browser.new_page(
                    viewport={"width": size[0], "height": size[1]},
                    color_scheme=colours,  # type: ignore[arg-type]
                    reduced_motion="reduce",
                )
                page.goto(f"{url}/console/#token={TOKEN}")
                page.wait_for_selector("nav a")
                page.goto(f"{url}/console/#/{place}")
                page.wait_for_selector(there)
                if name == "sql":
                    _run_statement(page)
                page.wait_for_timeout(_LOOKS_MS)
                (folder / file_name(name, colours, size)).write_bytes(_picture(page))
                page.close()


def _run_statement(page: Page) -> None:
    """Show a result on the page SQL."""
    page.click(".cm-content")
    page.keyboard.insert_text(_STATEMENT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".result")


def _picture(page: Page) -> bytes:
    """Return what is seen, as WebP: a third of a PNG."""
    session = page.context.new_cdp_session(page)
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": _QUALITY})
    return base64.b64decode(taken["data"])


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a development dependency

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*PAGES, *SQL_PAGES], help="one page")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium_arguments())
        for serving, pages in ((application, PAGES), (sql_server, SQL_PAGES)):
            wanted = {n: each for n, each in pages.items() if given.only in (None, n)}
            if wanted:
                with serving() as url:
                    take(browser, url, wanted, given.folder)
        browser.close()


if __name__ == "__main__":
    main()
