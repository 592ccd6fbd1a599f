"""The log of Kafka's clients says each thing once in a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from penstock.kafka import clients
from penstock.kafka.client_lines import Seldom

_REFUSED = "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("test.client_lines")
    seldom = Seldom()
    made.addFilter(seldom)
    yield made
    made.removeFilter(seldom)


def _say(logger: logging.Logger, client: int, took: int, text: str = _REFUSED) -> None:
    thread = f"[thrd:127.0.0.1:{client}/bootstrap]: "
    logger.error(
        "%s [%s] %s", "FAIL", f"rdkafka#producer-{client}", f"{thread}{text} (after {took}ms in X)"
    )


def test_the_same_complaint_of_many_clients_is_logged_once(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients and times differ, what is said does not."""
    for client in range(20):
        _say(logger, client, took=client)
    assert len(caplog.records) == 1
    assert "Connection refused" in caplog.text


def test_another_complaint_is_logged(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    _say(logger, 1, 0)
    _say(logger, 1, 0, "127.0.0.1:2/2: Disconnected")
    assert len(caplog.records) == 2


def test_a_complaint_that_lasts_is_logged_again(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for seconds in (0.0, 5.0, 6.0):
        now[0] += seconds
        _say(logger, 1, 0)
    assert len(caplog.records) == 2


def test_clients_log_through_it() -> None:
    found = logging.getLogger("penstock.kafka.client").filters
    assert clients is not None
    assert any(isinstance(each, Seldom) for each in found)
