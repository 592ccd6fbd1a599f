"""One record's journey in a real browser."""

from __future__ import annotations

from tests.console.browser import Open
from tests.console.fake_application import FakeApplication
from tests.console.test_pages import Serve


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
