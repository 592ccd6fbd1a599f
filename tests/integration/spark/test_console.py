"""The console over a real application, on Kafka and Spark, in a real browser."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from confluent_kafka import Producer

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.broker_folder import free_port
from tests.console.browser import Open, browser, open_page
from tests.integration.spark.instances import Instance, wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

TOKEN = "secret"
_names = count(1)


def topology(source: str, sink: str) -> ps.Topology:
    """Count orders by country; an order without an amount fails at the node ``price``."""
    builder = ps.StreamsBuilder()
    orders = builder.stream(source)
    priced = orders.map_values(lambda order: {**order, "total": 2 * order["amount"]}, name="price")
    counts = priced.group_by(lambda _, order: order["country"], name="by-country").count("counts")
    counts.to_stream().to(sink, value="long")
    return builder.build()


class Shop:
    """An application that the tests of this file share; each counts countries of its own."""

    def __init__(self, servers: str, admin: Admin, folder: Path) -> None:
        name = f"shop-{uuid4().hex[:8]}"
        self.source, self.sink, self.dead = (f"{name}-{each}" for each in ("in", "out", "dead"))
        for topic, partitions in ((self.source, 2), (self.sink, 1), (self.dead, 1)):
            admin.create_topic(topic, partitions=partitions)
        self.address = f"127.0.0.1:{free_port()}"
        self.streams = ps.KafkaStreams(
            topology(self.source, self.sink),
            {
                "application.id": name,
                "application.server": self.address,
                "bootstrap.servers": servers,
                "state.dir": str(folder),
                "processing.guarantee": "exactly_once_v2",
                "commit.interval.ms": 20,
                "default.key.serde": "string",
                "default.value.serde": "json",
                "penstock.server.write.tokens": TOKEN,
                "processing.exception.handler": "continue",
                "errors.dead.letter.queue.topic.name": self.dead,
            },
        )
        self.orders = 0
        self._producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})

    def order(
        self, country: str, number: int = 1, *, key: str | None = None, **more: Any
    ) -> list[str]:
        """Write orders, wait until they are counted, and return their keys."""
        keys = [key or f"o-{next(_names)}" for _ in range(number)]
        order = json.dumps({"country": country, **more})
        for key in keys:
            self._producer.produce(self.source, order, key)
        assert self._producer.flush(30) == 0
        self.orders += number
        self.settle()
        return keys

    def settle(self) -> None:
        assert self.streams.run_until_idle("300s")

    def open(self, open_page: Open, place: str) -> Page:
        """Open a page of the console, with the token that may send records."""
        shown = open_page(f"http://{self.address}/console/#token={TOKEN}")
        shown.wait_for_selector("nav a")
        self.go(shown, place)
        return shown

    def go(self, shown: Page, place: str) -> None:
        shown.goto(f"http://{self.address}/console/#/{place}")


@pytest.fixture(scope="module")
def shop(
    spark: Any, kafka_broker: str, kafka_admin: Admin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    made = Shop(kafka_broker, kafka_admin, tmp_path_factory.mktemp("shop"))
    with made.streams:
        made.order("no", amount=1)
        yield made
    kafka_admin.delete_topics([made.source, made.sink, made.dead], missing_ok=True)


@pytest.fixture
def country() -> str:
    """A country that no other test orders from."""
    return f"land-{next(_names)}"


def cell(key: str) -> str:
    """Select the value of a key in the table of a store."""
    return f"tr:has(th code:text-is('{key}')) td code"


def test_the_figures_equal_the_truth(shop: Shop, country: str, open_page: Open) -> None:
    """Records, lag, what a node has processed, and who runs it."""
    shop.order(country, 30, amount=2)
    shown = shop.open(open_page, "now")
    shown.wait_for_selector(f".headline dd:text-is('{shop.orders}')")
    lag = shown.locator("tr", has_text=shop.source).locator("td.number").nth(1)
    assert lag.inner_text() == "0"
    # Behind the source, counts of records one by one are samples.
    shop.go(shown, "topology/KSTREAM-SOURCE-0000000000")
    shown.wait_for_selector(f".node-panel .facts dd:text-is('{shop.orders}')")
    assert "builder.stream(source)" in shown.inner_text(".source .here")
    shop.go(shown, "tasks")
    shown.wait_for_selector(".commits rect >> nth=0")
    assert shown.locator(".threads li").count() == 1


def test_a_key_is_found_in_a_store(shop: Shop, country: str, open_page: Open) -> None:
    """With the commits that brought it to its value; the row follows the application."""
    shop.order(country, 3, amount=1)
    shown = shop.open(open_page, "stores/counts")
    shown.fill("input[aria-label^='Key']", country)
    shown.keyboard.press("Enter")
    shown.wait_for_selector(".key-panel pre:text-is('3')")
    shop.order(country, amount=1)
    shown.wait_for_selector(".key-panel pre:text-is('4')")
    shown.wait_for_selector(".history li >> nth=1")


def test_the_slider_shows_the_older_value(shop: Shop, country: str, open_page: Open) -> None:
    """One commit back the store holds what it held then."""
    shop.order(country, 5, amount=1)
    shown = shop.open(open_page, "stores/counts?prefix=" + country)
    shown.wait_for_selector(f"{cell(country)}:text-is('5')")
    shop.order(country, amount=1)
    shown.wait_for_selector(f"{cell(country)}:text-is('6')")
    shown.click("button[aria-label='One commit back']")
    shown.wait_for_selector(f"{cell(country)}:text-is('5')")
    shown.click("text=Back to now")
    shown.wait_for_selector(f"{cell(country)}:text-is('6')")


def test_a_dead_letter_is_mended_and_arrives(shop: Shop, country: str, open_page: Open) -> None:
    """A record without an amount fails; with one it is counted."""
    (key,) = shop.order(country)
    shown = shop.open(open_page, "failed")
    group = shown.wait_for_selector("section[aria-label='KeyError at price']").inner_text()
    assert "test_console.py:" in group
    shown.click(f"tr:has(td code:text-is('{key}')) a")
    value = shown.wait_for_selector("#part-Value")
    assert json.loads(value.input_value()) == {"country": country}
    value.fill(json.dumps({"country": country, "amount": 3}))
    shown.click(f"text=Send to {shop.source}")
    shown.wait_for_selector(".outcome:has-text('1 sent')")
    shop.orders += 1
    shop.settle()
    shop.go(shown, f"stores/counts?prefix={country}")
    shown.wait_for_selector(f"{cell(country)}:text-is('1')")


def test_the_journey_of_a_past_record_is_shown(shop: Shop, country: str, open_page: Open) -> None:
    """Its nodes, the row of the store before and after, and the topic where it came out."""
    shop.order(country, 2, amount=1)
    (key,) = shop.order(country, amount=4)
    shown = shop.open(open_page, f"journey/{shop.source}")
    shown.fill("input[aria-label='Key begins with']", key)
    shown.click(f"tr:has(td code:text-is('{key}')) a")
    priced = shown.wait_for_selector(".step:has-text('by-country')").inner_text()
    assert '"total":8' in priced
    wrote = shown.wait_for_selector(".did li:has-text('wrote')").inner_text().split()
    assert wrote == ["wrote", "counts", country, "2", "→", "3"]
    shown.wait_for_selector(f".did li.sent:has-text('{shop.sink}')")


def test_the_next_record_of_a_key_is_traced_as_it_comes(
    shop: Shop, country: str, open_page: Open
) -> None:
    """Both tasks that it goes through, with the row before and after; another key is not shown."""
    shop.order(country, 2, amount=1)
    key = f"o-{next(_names)}"
    shown = shop.open(open_page, f"journey/{shop.source}")
    shown.fill("input[aria-label='Key of the records to watch']", key)
    with shown.expect_response(lambda each: "/live?" in each.url) as begun:
        shown.click("button:text-is('Watch')")
    assert begun.value.status == 200
    shop.order(country, amount=1)
    shop.order(country, amount=5, key=key)
    wrote = shown.wait_for_selector(".watched .did li:has-text('wrote')").inner_text().split()
    assert wrote == ["wrote", "counts", country, "3", "→", "4"]
    assert shown.locator(".watched details").count() == 1
    assert '"total":10' in shown.inner_text(".watched")
    shown.click("text=Stop watching")
    shop.order(country, amount=1)
    shop.go(shown, f"stores/counts?prefix={country}")
    shown.wait_for_selector(f"{cell(country)}:text-is('5')")


@pytest.mark.slow
def test_a_fault_and_a_kill_are_said_and_it_comes_back(
    start: Callable[..., Instance], topics: tuple[str, str], produce: Any, open_page: Open
) -> None:
    """A lost stream thread is a failure with its fix; without the process the page says so."""
    port = free_port()
    instance = start(0.05, application_server=f"127.0.0.1:{port}")
    instance.wait_until_running()
    shown = open_page(f"http://127.0.0.1:{port}/console/")
    shown.wait_for_selector(".headline h2:has-text('All is well')")
    assert "No failure" in shown.inner_text("section:has(h2:text-is('What went wrong'))")

    # It takes ten seconds, so that the thread is lost in the middle of it.
    before = instance.told()["batches"]
    produce(topics[0], *((f"k{number}", "w") for number in range(400)))
    wait_for(lambda: instance.told().get("batches", 0) > before, 60)
    instance.send(signal.SIGKILL, instance.threads()[0])
    shown.wait_for_selector(".headline h2:has-text('after a failure')")
    failure = shown.inner_text(".failures li >> nth=0")
    assert "worker-lost" in failure
    shown.wait_for_selector(".headline dd:text-is('400')")

    instance.send(signal.SIGKILL)
    shown.wait_for_selector(".gone:has-text('It does not answer')")
    instance.sweep()
    again = start(0.01, application_server=f"127.0.0.1:{port}")
    again.wait_until_running()
    shown.wait_for_selector(".gone", state="detached")
    shown.wait_for_selector(".headline h2:has-text('All is well')")
    shown.goto(f"http://127.0.0.1:{port}/console/#/stores/counts")
    shown.wait_for_selector(f"{cell('w')}:text-is('400')")
