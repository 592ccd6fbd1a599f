"""Each page in a real browser, over a made-up application: what it says, and who can use it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.console.browser import NARROW, WIDE, Open, violations
from tests.console.fake_application import FakeApplication, Mood
from tests.console.shop import large
from tests.unit.serving.memory_application import until

Serve = Callable[..., str]

PAGES = {
    "now": "text=All is well",
    "topology": "svg.graph .node",
    "tasks": "canvas.heat",
    "stores/revenue-per-minute?key=de": ".axis rect",
    "journey/orders/2/4": ".steps .step",
    "changes": "text=store 'customers'",
    "failed?record=0:2": ".record-panel textarea",
}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_can_be_used_by_keyboard_and_screen_reader(
    page: str, open_page: Open, serve: Serve
) -> None:
    """axe-core finds nothing, in both colours and both widths."""
    address = serve(FakeApplication())
    for size, colours in ((WIDE, "light"), (NARROW, "dark")):
        shown = open_page(f"{address}#/{page}", size, colours)
        shown.wait_for_selector(PAGES[page])
        assert violations(shown) == []


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_a_telephone(page: str, open_page: Open, serve: Serve) -> None:
    """Tables scroll inside of themselves, and the page does not."""
    shown = open_page(f"{serve(FakeApplication())}#/{page}", NARROW)
    shown.wait_for_selector(PAGES[page])
    assert shown.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_the_link_of_a_page_is_seen_on_a_telephone(open_page: Open, serve: Serve) -> None:
    """The row of links scrolls to it."""
    shown = open_page(f"{serve(FakeApplication())}#/failed", NARROW)
    shown.wait_for_selector(".group")
    place = shown.locator("nav a[aria-current=page]").bounding_box()
    assert place is not None
    assert 0 <= place["x"] <= place["x"] + place["width"] <= NARROW[0]


@pytest.mark.parametrize(
    ("mood", "headline", "advice"),
    [
        (Mood.BEHIND, "Falling behind", "Add stream threads"),
        (Mood.WAITING, "Waiting", "See whether the brokers run"),
        (Mood.RESTORING, "Restoring its state", "come back from their changelogs"),
        (Mood.TROUBLED, "Running, after a failure", "shop.py:28"),
        (Mood.FAILED, "Ended with an error", "KeyError('amount')"),
    ],
)
def test_the_first_page_says_what_is_wrong_and_what_to_do(
    mood: Mood, headline: str, advice: str, open_page: Open, serve: Serve
) -> None:
    """A stranger understands it in five seconds."""
    shown = open_page(serve(FakeApplication(mood)))
    shown.wait_for_selector(f".headline h2:has-text('{headline}')")
    assert advice in shown.inner_text(".headline")


def test_a_node_shows_its_code_and_why_it_runs_by_record(open_page: Open, serve: Serve) -> None:
    """The line that made it is marked."""
    shown = open_page(f"{serve(FakeApplication())}#/topology")
    shown.click("#node-watchdog")
    panel = shown.wait_for_selector(".node-panel")
    assert "record by record because it sees the records of several inputs" in panel.inner_text()
    assert 'name="watchdog"' in shown.inner_text(".source .here")


def test_the_keyboard_walks_along_the_edges(open_page: Open, serve: Serve) -> None:
    """Arrow keys go to the next node, Enter opens it."""
    shown = open_page(f"{serve(FakeApplication())}#/topology")
    shown.wait_for_selector("svg.graph .node")
    shown.focus("#node-KSTREAM-SOURCE-0000000000")
    shown.keyboard.press("ArrowDown")
    title = shown.wait_for_selector(".node-panel header code")
    assert title.inner_text() in ("KSTREAM-FILTER-0000000005", "KSTREAM-AGGREGATE-0000000020")


def test_a_large_graph_can_be_searched_and_folded(open_page: Open, serve: Serve) -> None:
    """133 nodes: the search finds one, and a sub-topology becomes one box."""
    shown = open_page(f"{serve(FakeApplication(topology=large()))}#/topology")
    shown.wait_for_selector("svg.graph .node")
    assert shown.locator("svg.graph .node").count() == 133
    shown.fill(".search input", "per-user-07")
    shown.keyboard.press("Enter")
    assert "per-user-07" in shown.wait_for_selector(".node-panel").inner_text()
    shown.focus(".fold >> nth=0")
    shown.keyboard.press("Enter")
    shown.wait_for_selector("text=nodes, folded up")
    assert shown.locator("svg.graph .node").count() < 133


def test_the_slider_shows_a_store_as_it_was(open_page: Open, serve: Serve) -> None:
    """One commit back a key has the value that it had then, and Back to now returns."""
    application = FakeApplication()
    shown = open_page(f"{serve(application)}#/stores/orders-per-country")
    before = {row.key: row.value for row in application.cluster.rows["orders-per-country"]}
    application.tick()
    after = {row.key: row.value for row in application.cluster.rows["orders-per-country"]}
    country = next(key for key in after if before[key] != after[key])
    row = f"tr:has(th code:text-is('{country}'))"
    expect = f"{row} td code:text-is('{after[country]}')"
    shown.wait_for_selector(expect)
    shown.wait_for_selector(f"text=commit {application.cluster.commits[-1].number}")
    shown.click("button[aria-label='One commit back']")
    shown.wait_for_selector(f"{row} td code:text-is('{before[country]}')")
    shown.click("text=Back to now")
    shown.wait_for_selector(expect)


def test_a_key_is_found_with_how_it_came_to_its_value(open_page: Open, serve: Serve) -> None:
    """Each change has its commit, and leads to the whole store as of it."""
    shown = open_page(f"{serve(FakeApplication())}#/stores/orders-per-country")
    shown.fill("input[aria-label^='Key']", "de")
    shown.keyboard.press("Enter")
    shown.wait_for_selector(".history li >> nth=3")
    shown.click(".history li >> nth=3 >> button.link")
    shown.wait_for_selector(".key-panel >> text=as of commit")


def test_a_difference_names_what_has_changed(open_page: Open, serve: Serve) -> None:
    """Between two commits."""
    shown = open_page(f"{serve(FakeApplication())}#/stores/last-seen")
    shown.click("text=Difference")
    shown.wait_for_selector(".badge:has-text('changed')")


def test_changes_come_in_as_they_happen(open_page: Open, serve: Serve) -> None:
    """The newest first."""
    application = FakeApplication()
    shown = open_page(f"{serve(application)}#/stores/last-seen")
    shown.click("text=Live")
    until(lambda: bool(application.listeners))
    application.tick()
    shown.wait_for_selector("table.entries tbody tr")


def test_figures_change_and_the_graph_is_not_drawn_again(open_page: Open, serve: Serve) -> None:
    """A node that is looked at stays the same element, whatever is said in it."""
    shown = open_page(f"{serve(FakeApplication())}#/topology")
    rate = shown.locator("#node-KSTREAM-FILTER-0000000005 .rate")
    rate.wait_for()
    shown.wait_for_function("e => e.textContent.includes('/s')", arg=rate.element_handle())
    shown.evaluate("document.querySelector('#node-KSTREAM-FILTER-0000000005').mark = 1")
    before = rate.text_content()
    shown.wait_for_function(
        "([e, old]) => e.textContent !== old", arg=[rate.element_handle(), before]
    )
    assert shown.evaluate("document.querySelector('#node-KSTREAM-FILTER-0000000005').mark") == 1
