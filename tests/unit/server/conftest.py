"""A server's queries over topics in memory, closed after each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.query_memory import QueryWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[QueryWorld]:
    """Streams, tables and topics for one test; nothing may be left of it."""
    made = QueryWorld(tmp_path)
    yield made
    made.close()
    assert made.topics.readers == []
    assert [*tmp_path.rglob("CURRENT")] == []
