"""A server for the prompt in this process, for users who have none."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from penstock.cli.connection import with_project_broker
from penstock.cli.output import err
from penstock.cli.private_broker import new_broker
from penstock.cli.quiet import java_log
from penstock.cli.sql.prompt.screen import Screen
from penstock.config import BOOTSTRAP_SERVERS, SERVER_LISTEN
from penstock.extras import require

_ANY_PORT = "127.0.0.1:0"


@contextmanager
def embedded_server(
    settings: Mapping[str, Any], bootstrap: str | None, screen: Screen
) -> Iterator[str]:
    """Start a server on a free port and yield its address; it ends with the ``with`` block.

    Its Kafka is the one that the settings or ``bootstrap`` name, or the project's broker, or else
    a private one that is gone afterwards.

    Raises:
        MissingExtraError: ``missing-extra``: the packages of the server are not installed.
    """
    require("a server in this process", "spark", "server")
    named = {} if bootstrap is None else {BOOTSTRAP_SERVERS.name: bootstrap}
    given = with_project_broker({**settings, **named})
    with ExitStack() as stack:
        if not given.get(BOOTSTRAP_SERVERS.name):
            here, line = stack.enter_context(new_broker())
            line.stop()
            given |= here
        # Spark starts with the first query, and its Java writes to standard error from then on.
        stack.enter_context(stack.enter_context(java_log()).taking_stderr())
        with err().status("starting a server in this process"):
            server = _start(given)
        stack.callback(server.close)
        screen.note(
            f"no server was named: one runs in this process, with Kafka at"
            f" {given[BOOTSTRAP_SERVERS.name]}, and ends with it"
        )
        yield server.url


def _start(settings: dict[str, Any]) -> Any:
    """Start a server on a free port of the loopback address."""
    composition = importlib.import_module("penstock.server.composition")
    return composition.new_server({SERVER_LISTEN.name: _ANY_PORT, **settings}).start()
