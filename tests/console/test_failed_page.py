"""Failed records in a real browser: they are grouped, changed, and sent again."""

from __future__ import annotations

import json
from dataclasses import replace

from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from tests.console.browser import Open
from tests.console.fake_application import FakeApplication
from tests.console.fake_letters import FILTER
from tests.console.test_pages import Serve

WRITER = ServerOptions(credentials=Credentials.of(write_tokens=("secret",)))


def test_failed_records_are_grouped_with_their_line(open_page: Open, serve: Serve) -> None:
    """By error and node; without credentials nothing can be sent."""
    application = FakeApplication()
    shown = open_page(f"{serve(application)}#/failed")
    group = shown.wait_for_selector(f"section[aria-label='KeyError at {FILTER}']").inner_text()
    assert "7 of orders" in group
    assert "shop.py:" in group
    assert '{"sum":26,"product":"p-6","country":"nl"}' in group
    assert "needs credentials that may write" in group
    assert shown.locator("text=Send all again").count() == 0
    assert shown.locator(".badge:has-text('not decoded')").count() == 2


def test_a_record_is_changed_and_sent_again(open_page: Open, serve: Serve) -> None:
    """A value that would fail again is refused; then it arrives, with who did it."""
    application = FakeApplication()
    address = serve(application, WRITER)
    shown = open_page(f"{address}#token=secret")
    shown.goto(f"{address}#/failed")
    shown.click("a:has-text('orders 3:107')")
    value = shown.wait_for_selector("#part-Value")
    assert value.input_value() == '{"amount": 12.5, "product": "p-7"'
    value.fill('{"amount": 12.5,')
    shown.click("text=Send to orders")
    assert "cannot be read as JsonSerde" in shown.wait_for_selector(".problem").inner_text()
    value.fill('{"amount": 12.5}')
    shown.fill(".edit .send input", "closed the brace")
    shown.click("text=Send to orders")
    shown.wait_for_selector(".outcome:has-text('1 sent')")
    (record,) = application.letters.records
    headers = dict(record.headers)
    assert json.loads(record.value) == {"amount": 12.5}
    assert headers["__penstock.redrive.note"] == b"closed the brace"
    assert headers["__penstock.redrive.edited"] == b"value"
    shown.wait_for_selector("tr:has-text('orders 3:107') .badge:has-text('sent')")


def test_a_failed_record_leads_to_its_journey(open_page: Open, serve: Serve) -> None:
    """It ends where it failed: see what the nodes before made of it."""
    application = FakeApplication()
    failed = application.letters.letters[0]
    log = application.tools.logs["orders", 3]
    log.extend(log[:1] * (101 - len(log)))
    log[100] = replace(log[0], offset=100, key=failed.key, value=failed.value)
    shown = open_page(f"{serve(application)}#/failed?record=0:0")
    shown.click("text=Follow it through the topology")
    step = f".step:has-text('{FILTER}')"
    assert "KeyError: 'amount'" in shown.wait_for_selector(step).inner_text()


def test_a_whole_group_is_sent_again(open_page: Open, serve: Serve) -> None:
    """After a second look; the letters stay, and the page says that they were sent."""
    application = FakeApplication()
    address = serve(application, WRITER)
    shown = open_page(f"{address}#token=secret")
    shown.goto(f"{address}#/failed")
    group = f"section[aria-label='KeyError at {FILTER}']"
    shown.click(f"{group} >> text=Send all again")
    assert application.letters.records == []
    shown.click(f"{group} >> text=Send 7 again")
    shown.wait_for_selector(f"{group} >> .outcome:has-text('7 sent')")
    assert [record.key for record in application.letters.records] == [
        b"o-%d" % number for number in range(4_100, 4_107)
    ]
    shown.wait_for_selector(f"{group} >> tr:has-text('orders 3:100') .badge:has-text('sent')")
    assert shown.locator(f"{group} >> text=Send all again").count() == 0


def test_an_application_without_dead_letters_says_how_to_have_them(
    open_page: Open, serve: Serve
) -> None:
    """The name of the setting."""
    application = FakeApplication()
    application.letters = None
    shown = open_page(f"{serve(application)}#/failed")
    text = shown.wait_for_selector(".page .empty").inner_text()
    assert "errors.dead.letter.queue.topic.name" in text
