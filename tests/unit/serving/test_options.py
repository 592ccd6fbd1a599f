"""A server is on loopback, unless its owner has said otherwise and who may ask.

Exercises ``settings.serving``.
"""

import logging
from typing import Any

import pytest

from penstock.config import StreamsConfig
from penstock.errors import ConfigError
from penstock.serving.options import ServerOptions, is_loopback


def options(**given: Any) -> ServerOptions | None:
    named = {name.replace("__", "."): value for name, value in given.items()}
    return ServerOptions.of(StreamsConfig(named))


def test_without_application_server_there_is_none() -> None:
    assert options() is None


def test_it_listens_where_it_is_reached() -> None:
    found = options(application__server="localhost:8080")
    assert found is not None
    assert (found.host, found.port) == ("127.0.0.1", 8080)


def test_it_can_listen_elsewhere() -> None:
    found = options(application__server="example.org:80", penstock__server__listen="127.0.0.1:8080")
    assert found is not None
    assert (found.host, found.port, found.names) == ("127.0.0.1", 8080, {"example.org"})


@pytest.mark.parametrize("host", ["0.0.0.0", "example.org", "[::]", "10.0.0.1"])
def test_others_are_not_let_in_by_accident(host: str) -> None:
    with pytest.raises(ConfigError, match="without a token") as caught:
        options(application__server=f"{host}:8080")
    assert caught.value.code == "open-server"


def test_who_wants_everyone_to_read_says_so_and_is_warned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        options(application__server="0.0.0.0:1", penstock__server__allow__anonymous=True)
    assert "everyone who reaches 0.0.0.0:1 can read all stores" in caplog.text


def test_tokens_without_tls_are_warned_of_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = options(application__server="0.0.0.0:1", penstock__server__read__tokens="hunter2")
    assert "clear text" in caplog.text
    assert "hunter2" not in caplog.text + repr(found)


def test_secrets_are_not_shown_by_errors() -> None:
    with pytest.raises(ConfigError, match="what was given") as caught:
        options(penstock__server__users=["hunter2"])
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "given",
    [{"tls__key": "k"}, {"tls__certificate": "c"}, {"tls__key": "k", "tls__certificate": "c"}],
)
def test_tls_needs_both_files(given: dict[str, str]) -> None:
    named = {f"penstock__server__{name}": value for name, value in given.items()}
    with pytest.raises(ConfigError, match=r"penstock\.server\.tls"):
        options(application__server="localhost:1", **named)


def test_loopback_is_this_machine_only() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "localhost.example.org", "")))
