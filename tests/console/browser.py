"""Debian's Chromium, driven by Playwright; where it is missing, tests say so and are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Nothing of it may ask anybody on the network.
_ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
#: A busy machine takes its time; a page that is right is there much earlier.
PATIENCE_MS = 60_000
WIDE, NARROW = (1440, 900), (390, 844)

#: Opens a page: its address, and how it is shown.
Open = Callable[..., "Page"]


def chromium() -> str | None:
    """Return where the browser is; None if there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def chromium_arguments() -> dict[str, Any]:
    """Return how Playwright starts the browser."""
    return {"executable_path": chromium(), "args": [*_ARGUMENTS]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a file: while it is there, nothing else can run asyncio."""
    driver = pytest.importorskip("playwright.sync_api", reason="a development dependency")
    if chromium() is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(**chromium_arguments())
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens pages, and fails if one of them complained: a script, a policy, a file that is gone."""
    opened: list[Any] = []
    complaints: list[str] = []

    def open_one(url: str, size: tuple[int, int] = WIDE, colours: str = "light") -> Page:
        width, height = size
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=colours,  # type: ignore[arg-type]
            reduced_motion="reduce",
        )
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: _note(said, complaints))
        opened.append(page)
        page.goto(url)
        return page

    yield open_one
    for page in opened:
        page.close()
    assert complaints == []


def _note(said: Any, complaints: list[str]) -> None:
    # A server that is gone, or an answer that is no success, is logged by the browser itself.
    if said.type == "error" and "Failed to load resource" not in said.text:
        complaints.append(said.text)


def violations(page: Page) -> list[str]:
    """Return what a screen reader or a keyboard would stumble over, as axe-core finds it."""
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    # Not as an element of the page: the page's own policy would refuse it.
    page.evaluate(script)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {node['html'][:160]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
