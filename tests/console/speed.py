"""Measure how fast the console is in a browser: ``python -m tests.console.speed``.

First paint is measured without a cache, from the click to the first text. Frames are counted over
a graph of a hundred nodes whose figures change every second, at rest and while it is dragged.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.console.browser import WIDE, chromium_arguments
from tests.console.fake_application import FakeApplication
from tests.console.shop import large

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Arms of the topology: eleven nodes each, and one source.
ARMS = 9
_TICK_S = 0.5
_PAINT = """
() => new Promise(done => {
  const found = performance.getEntriesByName("first-contentful-paint");
  if (found.length) return done(found[0].startTime);
  new PerformanceObserver(list => {
    for (const each of list.getEntriesByName("first-contentful-paint")) done(each.startTime);
  }).observe({type: "paint", buffered: true});
})
"""
#: Counts frames, and the longest time between two of them.
_FRAMES = """
seconds => new Promise(done => {
  const times = [];
  const frame = now => {
    times.push(now);
    if (now - times[0] < seconds * 1000) return requestAnimationFrame(frame);
    const gaps = times.slice(1).map((each, at) => each - times[at]);
    done({
      rate: (times.length - 1) * 1000 / (now - times[0]),
      longest_ms: Math.max(...gaps),
      late: gaps.filter(each => each > 1000 / 30 + 1).length,
      frames: gaps.length,
    });
  };
  requestAnimationFrame(frame);
})
"""
_CHANGES = """
() => {
  window.changes = 0;
  new MutationObserver(list => { window.changes += list.length; }).observe(
    document.querySelector("svg.graph"), {subtree: true, characterData: true, attributes: true});
}
"""


@contextmanager
def serving() -> Iterator[str]:
    """Serve an application of a hundred nodes whose figures change, and yield its console."""
    application = FakeApplication(topology=large(ARMS))
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(_TICK_S):
            application.tick()

    with ServingServer(application, ServerOptions()) as server:
        ticking = threading.Thread(target=go_on, daemon=True)
        ticking.start()
        yield f"{server.url}/console/"
        is_over.set()
        ticking.join()


def first_paints(browser: Browser, address: str, times: int) -> list[float]:
    """Return the milliseconds until something is read on the first page, each without a cache."""
    found = []
    for _ in range(times):
        context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
        page = context.new_page()
        page.goto(address)
        found.append(float(page.evaluate(_PAINT)))
        context.close()
    return found


def frames(page: Page, address: str, seconds: float) -> dict[str, dict[str, float]]:
    """Return the frames a second of the graph at rest and while it is dragged."""
    page.goto(f"{address}#/topology")
    page.wait_for_selector("svg.graph .node")
    nodes = page.locator("svg.graph .node").count()
    page.evaluate(_CHANGES)
    at_rest = page.evaluate(_FRAMES, seconds)
    changes = page.evaluate("window.changes")
    page.evaluate(f"window.counted = ({_FRAMES})({seconds})")
    page.mouse.move(700, 500)
    page.mouse.down()
    ends, place = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        place += 1
        page.mouse.move(700 + place % 120, 500 + place % 80)
        page.wait_for_timeout(16)
    dragged = page.evaluate("window.counted")
    page.mouse.up()
    return {
        "graph": {"nodes": nodes, "changes": changes},
        "at rest": at_rest,
        "dragged": dragged,
    }


def measure(browser: Browser, times: int, seconds: float) -> dict[str, object]:
    """Return all figures."""
    with serving() as address:
        paints = first_paints(browser, address, times)
        page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
        counted = frames(page, address, seconds)
        page.close()
    return {
        "first_paint_ms": {"median": statistics.median(paints), "longest": max(paints)},
        **counted,
    }


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a development dependency

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9, help="how often the first page is opened")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long frames are counted")
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium_arguments())
        print(json.dumps(measure(browser, given.times, given.seconds), indent=2))
        browser.close()


if __name__ == "__main__":
    main()
