"""The console of an SQL server in a real browser: its queries run on Spark and Kafka."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.server.sql_server import SqlServer
from tests.console.browser import Open, browser, open_page
from tests.integration.server.processes import Rest

__all__ = ["browser", "open_page"]

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]


def test_a_push_query_grows_on_the_page(
    start: Callable[..., SqlServer], service: str, open_page: Open
) -> None:
    """Rows of a table come in as its query counts them; the query has pages of its own."""
    server = start()
    rest = Rest(server.url)
    rest.ksql(f"""
        CREATE STREAM clicks (page VARCHAR KEY, n INT)
            WITH (KAFKA_TOPIC='{service}clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE TABLE sums WITH (KAFKA_TOPIC='{service}sums') AS
            SELECT page, SUM(n) AS total FROM clicks GROUP BY page;
        INSERT INTO clicks VALUES ('home', 40);
    """)
    shown = open_page(f"{server.url}/console/#/sql")
    shown.click(".cm-content")
    shown.keyboard.insert_text("SELECT * FROM sums EMIT CHANGES;")
    shown.keyboard.press("Control+Enter")
    shown.wait_for_selector(".result td:has-text('40')")
    rest.ksql("INSERT INTO clicks VALUES ('home', 2);")
    shown.wait_for_selector(".result td:has-text('42')")
    assert shown.locator(".result tbody tr").count() == 2
    shown.click(".result >> text=Stop")
    shown.wait_for_selector(".result .badge:has-text('stopped')")
    shown.goto(f"{server.url}/console/#/queries")
    shown.click(".query h2 a")
    shown.wait_for_selector(".headline dd:text-is('2')")
