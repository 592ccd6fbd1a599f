"""Settings of a server: where it listens, what its queries get, and what they must not get.

Exercises ``server.sql_server`` and ``server.composition``.
"""

from __future__ import annotations

import pytest

from penstock.errors import ConfigError
from penstock.server.composition import SERVICES
from penstock.server.sql_server import (
    _for_engine,
    _for_queries,
    _host,
    server_options,
    with_port,
)
from penstock.sql import SqlEngine
from penstock.sql.starting import new_engine


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ("127.0.0.1", 8088)),
        ({"listeners": "http://127.0.0.1:9000"}, ("127.0.0.1", 9000)),
        ({"listeners": "http://127.0.0.1:9000,http://127.0.0.1:9001"}, ("127.0.0.1", 9000)),
        ({"listeners": "http://[::1]:9000"}, ("::1", 9000)),
        ({"penstock.server.listen": "127.0.0.1:0"}, ("127.0.0.1", 0)),
    ],
)
def test_server_listens_where_it_is_told(given: dict[str, str], wanted: tuple[str, int]) -> None:
    """On loopback unless told otherwise; ksqlDB's own setting works."""
    options = server_options(given)
    assert (options.host, options.port) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"penstock.server.listen": "127.0.0.1:0"}, "127.0.0.1:4711"),
        ({"penstock.server.listen": "[::1]:0"}, "[::1]:4711"),
        ({"penstock.server.listen": "127.0.0.1:9000"}, "127.0.0.1:9000"),
        (
            {"penstock.server.listen": "127.0.0.1:0", "ksql.advertised.listener": "http://h:0"},
            "h:4711",
        ),
        (
            {"penstock.server.listen": "127.0.0.1:0", "ksql.advertised.listener": "http://h:80"},
            "h:80",
        ),
    ],
)
def test_server_tells_others_the_port_that_it_got(given: dict[str, str], wanted: str) -> None:
    """Port 0 takes any free one; others cannot reach port 0."""
    assert with_port(_host(given, server_options(given)), 4711) == wanted


def test_open_server_is_refused() -> None:
    """Whoever reaches it could run any statement."""
    with pytest.raises(ConfigError) as refused:
        server_options({"listeners": "http://0.0.0.0:8088"})
    assert refused.value.code == "open-server"
    assert "any statement" in refused.value.message
    server_options({"listeners": "http://0.0.0.0:8088", "penstock.server.tokens": "t"})


@pytest.mark.parametrize("text", ["nonsense", "http://host", "http://:1", "http://h:x"])
def test_bad_listener_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        server_options({"listeners": text})
    assert refused.value.code == "bad-setting"


def test_statements_may_be_longer_than_questions_about_stores() -> None:
    """A script of some pages is one request."""
    assert server_options({}).limits.request_bytes == 1_048_576
    assert (
        server_options({"penstock.server.max.request.bytes": "2048"}).limits.request_bytes == 2048
    )


def test_queries_get_settings_of_kafka_streams_and_spark_only() -> None:
    """Tokens of the server must not travel to Spark's workers."""
    given = {
        "bootstrap.servers": "b:1", "ksql.service.id": "x", "ksql.streams.commit.interval.ms": "5",
        "penstock.server.tokens": "secret", "listeners": "http://127.0.0.1:1", "spark.master": "l",
        "application.server": "a:1",
    }  # fmt: skip
    assert _for_queries(given) == {
        "bootstrap.servers": "b:1", "commit.interval.ms": "5", "spark.master": "l",
    }  # fmt: skip
    assert "penstock.server.tokens" not in new_engine(given).config


def test_services_are_callables() -> None:
    """Each makes a part of the server for a node."""
    assert all(callable(make) for make in SERVICES)


@pytest.mark.parametrize("is_headless", [False, True])
def test_only_a_headless_engine_makes_the_stream_of_the_log(is_headless: bool) -> None:
    """Nodes of a service have one catalog, so its streams come through the command topic."""
    name = "ksql.logging.processing.stream.auto.create"
    settings = _for_engine({name: "true"}, makes_log_stream=is_headless)
    engine = SqlEngine(settings)
    assert ("KSQL_PROCESSING_LOG" in engine.sources) is is_headless
    assert engine.processing_log.is_wanted
