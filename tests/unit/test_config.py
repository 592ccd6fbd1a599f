import logging
from typing import Any

import pytest

from penstock import config as settings
from penstock.config import SETTINGS, StreamsConfig


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("default.api.timeout.ms", 60_000),
        ("task.timeout.ms", 300_000),
        ("retry.backoff.ms", 100),
        ("retry.backoff.max.ms", 1_000),
        ("repartition.purge.interval.ms", 30_000),
        ("state.cleanup.delay.ms", 600_000),
    ],
)
def test_settings_have_the_defaults_of_kafka(name: str, default: int) -> None:
    """A configuration of Kafka Streams means the same here."""
    assert StreamsConfig({})[SETTINGS[name]] == default
    assert StreamsConfig({name: str(default + 1)})[SETTINGS[name]] == default + 1


@pytest.mark.parametrize(
    ("older", "newer", "value"),
    [
        (
            "default.deserialization.exception.handler",
            settings.DESERIALIZATION_HANDLER,
            "org.apache.kafka.streams.errors.LogAndContinueExceptionHandler",
        ),
        ("default.production.exception.handler", settings.PRODUCTION_HANDLER, "continue"),
        ("cache.max.bytes.buffering", settings.CACHE_MAX_BYTES, 7),
        ("default.dsl.store", settings.DSL_STORE_SUPPLIERS, "in_memory"),
    ],
)
def test_older_name_stands_for_the_newer(older: str, newer: Any, value: Any) -> None:
    """Kafka Streams still takes these names; the newer one wins where both are given."""
    config = StreamsConfig({older: value})
    assert config[newer] == value
    assert config.has(newer)
    both = StreamsConfig({newer.name: newer.default, older: value})
    assert both[newer] == newer.default


def test_older_name_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    """A configuration is read many times, in many processes."""
    settings._warn_of_older_name.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            StreamsConfig({"cache.max.bytes.buffering": 1})
    (warning,) = caplog.messages
    assert "cache.max.bytes.buffering is an older name of statestore.cache.max.bytes" in warning
