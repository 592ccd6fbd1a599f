"""The console of a run: where it is, a token that lasts as long as the run, and the browser."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.config import (
    APPLICATION_SERVER,
    SERVER_READ_TOKENS,
    SERVER_READ_USERS,
    SERVER_TLS_CERTIFICATE,
    SERVER_TOKENS,
    SERVER_USERS,
    SERVER_WRITE_TOKENS,
    SERVER_WRITE_USERS,
    StreamsConfig,
)
from penstock.extras import missing_packages, require
from penstock.kafka.broker_folder import free_port

_CREDENTIALS = (
    SERVER_TOKENS, SERVER_WRITE_TOKENS, SERVER_READ_TOKENS,
    SERVER_USERS, SERVER_WRITE_USERS, SERVER_READ_USERS,
)  # fmt: skip
#: A first start may download a broker.
_PATIENCE_S = 600.0
_LOOK_S = 0.3


@dataclass(frozen=True, slots=True)
class ConsoleLink:
    """The address of a run's console, and the settings under which the run serves it.

    If the program names no ``application.server``, a free port of this machine is taken. If it has
    no credentials, a token is made that may do everything. It is behind the ``#`` of the link,
    which browsers send to nobody, and it ends with the run.
    """

    url: str
    settings: Mapping[str, Any]

    @staticmethod
    def of(given: Mapping[str, Any]) -> ConsoleLink:
        """Return the link of a run with these settings.

        Raises:
            MissingExtraError: ``missing-extra``: the packages of the server are not installed.
        """
        require("penstock run --console", "server")
        config, settings = StreamsConfig(given), dict[str, Any]()
        address = config[APPLICATION_SERVER]
        if not address:
            address = settings[APPLICATION_SERVER.name] = f"127.0.0.1:{free_port()}"
        fragment = ""
        if not any(config[setting] for setting in _CREDENTIALS):
            token = secrets.token_urlsafe(24)
            settings[SERVER_TOKENS.name] = (token,)
            fragment = f"#token={token}"
        scheme = "https" if config[SERVER_TLS_CERTIFICATE] else "http"
        return ConsoleLink(f"{scheme}://{address}/console/{fragment}", settings)

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.split("/")[2].rpartition(":")
        return host.strip("[]"), int(port)

    def open_when_served(self, opens: Callable[[str], Any] = webbrowser.open) -> None:
        """Open the link in a browser as soon as the server answers. It does not wait for that."""
        thread = threading.Thread(target=self._open, args=(opens,), name="penstock-console")
        thread.daemon = True
        thread.start()

    def _open(self, opens: Callable[[str], Any]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(self.address, timeout=1.0).close()
            except OSError:
                time.sleep(_LOOK_S)
            else:
                opens(self.url)
                return


def is_served() -> bool:
    """Return whether the packages of the server are installed."""
    return not missing_packages("server")


def has_browser() -> bool:
    """Return whether a browser can show a page to the user: there is a terminal and a screen."""
    if not sys.stdout.isatty():
        return False
    # On Linux, without a screen, a browser of the terminal would take the place of the view.
    has_screen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return has_screen or sys.platform in ("darwin", "win32")
