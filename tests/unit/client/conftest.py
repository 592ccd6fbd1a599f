"""A fake server on a socket for each test that asks for it."""

from collections.abc import Iterator

import pytest

from tests.unit.client.fake_server import FakeServer, Source, running


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    fake.sources["ORDERS"] = Source(
        "STREAM",
        "ORDERS",
        {"ID": "STRING", "AMOUNT": "INTEGER", "PRICE": "DECIMAL(6, 2)", "AT": "TIMESTAMP"},
        [["a", 1, 2.5, "2024-01-02T03:04:05.006"], ["b", None, None, None]],
    )
    with running(fake):
        yield fake
