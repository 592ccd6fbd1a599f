"""What ``penstock.read`` refuses before it reads; records are in ``tests/integration/kafka``."""

from pathlib import Path

import pytest

import penstock
from penstock.errors import InvalidArgumentError
from penstock.kafka.errors import BrokerError


def test_without_any_broker_the_error_says_how_to_start_or_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BrokerError, match="no-broker") as raised:
        penstock.read("averages")
    assert "bootstrap_servers=" in str(raised.value)


def test_a_serde_that_is_not_there_is_asked_for() -> None:
    with pytest.raises(InvalidArgumentError, match="missing-serde") as raised:
        penstock.read("averages", value=None, bootstrap_servers="127.0.0.1:1")
    assert "test_topics.py:" in str(raised.value)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """No broker answers there."""
    records = penstock.read("averages", value=float, bootstrap_servers="127.0.0.1:1")
    assert "'averages'" in repr(records.latest())
