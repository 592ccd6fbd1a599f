"""A client of Kafka Connect's REST interface."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from penstock.connect.connect import (
    ConnectorInfo,
    ConnectorState,
    Plugin,
    Validation,
    connector_info,
    connector_state,
    validation,
)
from penstock.connect.errors import ConnectError, ConnectorExistsError
from penstock.connect.no_connectors import unknown_connector
from penstock.model.secrets import all_shown

_log = logging.getLogger(__name__)

_NOT_FOUND = 404
_CONFLICT = 409
_LOGIN = (401, 403)
_OK = range(200, 300)
#: How often a request is tried again during a rebalance of the workers.
_TRIES = 12
_PAUSE_S = 0.5
_JSON = "application/json"


class RestConnect:
    """A Kafka Connect cluster at a URL. It opens a connection per request.

    Args:
        url: Such as ``http://localhost:8083``, or several of them with commas between; the first
            one that answers is asked. A login may be in it: ``http://user:password@host:8083``.
        user: Name and password for basic authentication; it wins over a login in the URL.
        timeout_s: How long one answer may take.
    """

    def __init__(
        self, url: str, *, user: tuple[str, str] | None = None, timeout_s: float = 30.0
    ) -> None:
        self._places = [_Place.of(each.strip(), user) for each in url.split(",") if each.strip()]
        if not self._places:
            raise _bad_url(url)
        self._timeout_s = timeout_s

    @property
    def url(self) -> str:
        """The address, without its login."""
        return ",".join(place.url for place in self._places)

    def connectors(self) -> list[str]:
        return sorted(self._ask("GET", "/connectors"))

    def describe(self, name: str) -> ConnectorInfo:
        return connector_info(self._ask("GET", f"/connectors/{_quoted(name)}", about=name))

    def status(self, name: str) -> ConnectorState:
        return connector_state(self._ask("GET", f"/connectors/{_quoted(name)}/status", about=name))

    def topics(self, name: str) -> list[str]:
        answer = self._ask("GET", f"/connectors/{_quoted(name)}/topics", about=name)
        return sorted(answer.get(name, {}).get("topics", ()))

    def plugins(self) -> list[Plugin]:
        return [
            Plugin(each["class"], str(each.get("type", "")), str(each.get("version") or ""))
            for each in self._ask("GET", "/connector-plugins")
        ]

    def validate(self, class_name: str, config: Mapping[str, str]) -> Validation:
        path = f"/connector-plugins/{_quoted(class_name)}/config/validate"
        return validation(self._ask("PUT", path, dict(config)))

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        _log.info("creating connector %s: %s", name, all_shown(config))
        body = {"name": name, "config": dict(config)}
        return connector_info(self._ask("POST", "/connectors", body, about=name))

    def delete(self, name: str) -> None:
        _log.info("deleting connector %s", name)
        self._ask("DELETE", f"/connectors/{_quoted(name)}", about=name)

    def is_ready(self) -> bool:
        """Return whether the worker has joined its group and read its connectors."""
        try:
            self._ask("GET", "/health")
        except ConnectError:
            return False
        return True

    def _ask(self, method: str, path: str, body: Any = None, *, about: str = "") -> Any:
        for left in reversed(range(_TRIES)):
            status, answer = self._sent(method, path, body)
            if status in _OK:
                return answer
            said = _said(answer)
            if not left or not _is_passing(status, said):
                raise _refused(status, said, about, self.url)
            time.sleep(_PAUSE_S)
        raise AssertionError("unreachable")

    def _sent(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        failures = []
        for place in self._places:
            try:
                return place.request(method, path, body, self._timeout_s)
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{place.url}: {str(error) or type(error).__name__}")
        raise ConnectError(
            "connect-unreachable",
            f"Kafka Connect cannot be asked at {'; '.join(failures)}",
            fix="check that a worker runs there, and ksql.connect.url; without that setting"
            " Penstock starts a worker itself",
        )


class _Place:
    """One address of a cluster."""

    def __init__(self, scheme: str, host: str, port: int, path: str, login: str | None) -> None:
        self._scheme = scheme
        self._host = host
        self._port = port
        self._path = path
        self._login = login

    @staticmethod
    def of(url: str, user: tuple[str, str] | None) -> _Place:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise _bad_url(url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _bad_url(url)
        if user is None and parts.username is not None:
            user = unquote(parts.username), unquote(parts.password or "")
        login = None if user is None else base64.b64encode(":".join(user).encode()).decode()
        default = 443 if parts.scheme == "https" else 80
        return _Place(parts.scheme, parts.hostname, port or default, parts.path.rstrip("/"), login)

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self._port}{self._path}"

    def request(self, method: str, path: str, body: Any, timeout_s: float) -> tuple[int, Any]:
        connection = self._connection(timeout_s)
        headers = {"Accept": _JSON}
        if self._login is not None:
            headers["Authorization"] = f"Basic {self._login}"
        data = None
        if body is not None:
            headers["Content-Type"] = _JSON
            data = json.dumps(body).encode()
        try:
            connection.request(method, self._path + path, data, headers)
            response = connection.getresponse()
            return response.status, _read(response.read())
        finally:
            connection.close()

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout_s, context=context
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)


def _read(data: bytes) -> Any:
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError:
        # A proxy or another kind of server may not answer with JSON.
        return data.decode(errors="replace")


def _said(answer: Any) -> str:
    if isinstance(answer, dict):
        return str(answer.get("message") or answer)
    return " ".join(str(answer or "").split())[:500] or "nothing"


def _is_passing(status: int, said: str) -> bool:
    """Return whether a request was refused only because the workers are rebalancing."""
    return status == _CONFLICT and "already exists" not in said


def _refused(status: int, said: str, about: str, url: str) -> ConnectError:
    if status in _LOGIN:
        return ConnectError(
            "connect-login",
            f"Kafka Connect at {url} refuses the login: {said}",
            "check ksql.connect.basic.auth.user.info, or the login in ksql.connect.url",
            status=status,
        )
    if status == _NOT_FOUND and about:
        return unknown_connector(about)
    if status == _CONFLICT and "already exists" in said:
        return ConnectorExistsError(
            "connector-exists", f"there is a connector {about!r} already",
            "drop it first, or write IF NOT EXISTS", status=status,
        )  # fmt: skip
    return ConnectError(
        "connect-refused",
        f"Kafka Connect answers {status}: {said}",
        "correct what it complains about; the worker's log says more",
        status=status,
    )


def _bad_url(url: str) -> ConnectError:
    # The part before the @ may contain a password.
    shown = url.rsplit("@", 1)[-1]
    return ConnectError(
        "bad-connect-url",
        f"{shown!r} is not an address of Kafka Connect",
        "write ksql.connect.url as http://host:8083",
    )


def _quoted(name: str) -> str:
    return quote(name, safe="")
