"""One record's journey in a real browser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.serving.journey.values import LiveTrace, Origin, Rows, Traced
from tests.console.browser import Open, violations
from tests.console.fake_application import FakeApplication
from tests.console.test_pages import Serve
from tests.unit.serving.memory_application import until


def test_a_record_is_picked_and_followed(open_page: Open, serve: Serve) -> None:
    """Its joins, what it changed in stores, where it came out, and what is not known."""
    shown = open_page(f"{serve(FakeApplication())}#/journey")
    shown.wait_for_selector("tr:has-text('c-0147')")
    shown.fill("input[aria-label='Key begins with']", "c-0147")
    shown.wait_for_selector("tr:has-text('c-0140')", state="detached")
    shown.click("tr:has-text('c-0147') a")
    join = shown.wait_for_selector(".step:has-text('KSTREAM-JOIN-0000000006')").inner_text()
    assert "customers" in join
    assert "shop.py:" in join
    steps = shown.inner_text(".steps")
    assert "enriched-orders" in steps
    assert "wrote" in steps
    assert "orders-per-country" in steps
    assert "as they are now" in shown.inner_text("section[aria-label='What is not known']")


def test_a_record_that_goes_nowhere_says_where_it_ends(open_page: Open, serve: Serve) -> None:
    """An order without an amount does not pass the filter."""
    shown = open_page(f"{serve(FakeApplication())}#/journey/orders/3/0")
    shown.wait_for_selector(".step:has-text('KSTREAM-FILTER-0000000005'):has-text('ends here')")


def test_a_place_that_has_no_record_is_said(open_page: Open, serve: Serve) -> None:
    """The form takes a partition and an offset."""
    shown = open_page(f"{serve(FakeApplication())}#/journey/orders")
    shown.fill("input[aria-label='Partition and offset']", "3:999")
    shown.keyboard.press("Enter")
    assert "no record at offset 999" in shown.wait_for_selector(".problem").inner_text()


def test_the_next_records_are_shown_as_threads_trace_them(open_page: Open, serve: Serve) -> None:
    """The newest first; what goes on behind a topic joins its record; and it can be stopped."""
    application = FakeApplication()
    tools = application.tools
    shown = open_page(f"{serve(application)}#/journey/orders")
    shown.fill("input[aria-label='Key of the records to watch']", "c-0147")
    shown.click("button:text-is('Watch')")
    until(lambda: bool(tools.watches))
    (watch,) = tools.watches.values()
    assert (watch.topic, watch.key) == ("orders", b"c-0147")
    record = tools.logs["orders", 2][4]
    trace = tools.run([], record, Nothing())
    origin = Origin("orders", 2, 4)
    first = LiveTrace(origin=origin, task="0_2", record=record, trace=trace)
    behind = replace(first, task="1_2", record=replace(record, topic="by-country", offset=7))
    tools.live = Traced(traces=[behind, first], missed=5)
    shown.wait_for_selector(".watched details >> text=orders 2:4")
    assert shown.locator(".watched details").count() == 1
    tasks = shown.locator(".watched section .badge:has-text('task')").all_inner_texts()
    assert tasks == ["task 0_2", "task 1_2"]
    shown.wait_for_selector("text=5 more came")
    assert violations(shown) == []
    shown.click("text=Stop watching")
    shown.wait_for_selector("button:text-is('Watch')")
    assert shown.locator(".watched details").count() == 1


class Nothing:
    """Stores without rows."""

    def of_key(self, store: str, key: Any) -> Rows:
        return Rows()

    def some(self, store: str) -> Rows:
        return Rows()
