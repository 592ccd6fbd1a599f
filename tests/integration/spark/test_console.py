"""The console over a real application, on Kafka and Spark, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

import penstock as ps
from penstock.kafka.broker_folder import free_port
from tests.console.browser import PATIENCE_MS, Open, browser, open_page

__all__ = ["browser", "open_page"]

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Make = Callable[..., ps.KafkaStreams]
Write = Callable[..., None]


def words(source: str) -> ps.Topology:
    """Counts words; a line that is not text makes the application stop."""
    builder = ps.StreamsBuilder()
    lines = builder.stream(source)
    lines.flat_map_values(lambda line: line.split(), name="split").group_by(
        lambda _, word: word
    ).count("counts")
    return builder.build()


def test_the_console_shows_what_a_real_application_does(
    streams_of: Make, new_topic: Any, produce: Write, open_page: Open
) -> None:
    """Counts equal the truth, the slider shows what was, and an end and a new start are said."""
    source = new_topic("lines", partitions=2)
    produce(source, *((f"k{number}", f"a{number % 3} b", number) for number in range(100)))
    port = free_port()
    given = {"application.server": f"127.0.0.1:{port}"}
    streams = streams_of(words(source), **given)
    streams.start()
    page = open_page(f"http://127.0.0.1:{port}/console/")
    assert streams.run_until_idle("300s")

    page.wait_for_selector(".headline h2:has-text('All is well')", timeout=PATIENCE_MS)
    page.wait_for_selector(".headline dd:text-is('100')")
    row = page.locator("tr", has_text=source)
    assert row.locator("td.number").nth(1).inner_text() == "0"

    page.goto(f"http://127.0.0.1:{port}/console/#/topology/split")
    page.wait_for_selector(".node-panel .facts dd:text-is('100')")
    assert "line.split()" in page.inner_text(".source .here")

    page.goto(f"http://127.0.0.1:{port}/console/#/stores/counts")
    cell = "tr:has(th code:text-is('b')) td code"
    page.wait_for_selector(f"{cell}:text-is('100')")
    produce(source, ("k", "b b", 200))
    assert streams.run_until_idle("300s")
    page.wait_for_selector(f"{cell}:text-is('102')")
    page.click("button[aria-label='One commit back']")
    page.wait_for_selector(f"{cell}:text-is('100')")

    page.goto(f"http://127.0.0.1:{port}/console/#/tasks")
    page.wait_for_selector(".threads li >> nth=0")
    page.wait_for_selector(".commits rect >> nth=0")
    assert page.locator(".threads li").count() == 1

    page.goto(f"http://127.0.0.1:{port}/console/#/now")
    streams.close("180s")
    page.wait_for_selector(".gone:has-text('It does not answer')")
    again = streams_of(words(source), **given)
    again.start()
    page.wait_for_selector(".gone", state="detached")
    page.wait_for_selector(".headline h2:has-text('All is well')", timeout=PATIENCE_MS)
