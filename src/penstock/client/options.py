"""Address, login, TLS and time limits of a client, as the HTTP library wants them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.errors import InvalidArgumentError

DEFAULT_URL = "http://127.0.0.1:8088"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Everything that both clients need to know about their server."""

    url: str = DEFAULT_URL
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    verify: bool = True
    http2: bool = False
    timeout_s: float = 30.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgumentError(
                "bad-server-url",
                f"{self.url!r} is not the address of a server",
                fix=f"write it like {DEFAULT_URL}",
            )
        if self.user is not None and self.token is not None:
            raise InvalidArgumentError(
                "two-logins", "a client logs in with a user or with a token, not with both"
            )
        if self.key is not None and self.certificate is None:
            raise InvalidArgumentError(
                "no-certificate", "key= needs certificate=, the certificate that it belongs to"
            )

    @property
    def base_url(self) -> str:
        return self.url.rstrip("/")

    def http_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``httpx2.Client`` and ``httpx2.AsyncClient``."""
        headers = {"user-agent": "penstock-client"} | dict(self.headers)
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        arguments: dict[str, Any] = {
            "base_url": self.base_url,
            "headers": headers,
            "timeout": self.timeout_s,
            "verify": self._tls(),
            # Without TLS nothing negotiates the version: the client speaks it from the first byte.
            "http2": self.http2,
            "http1": not self.http2,
            # A server on this machine is not behind a proxy, and the environment's netrc is not
            # a login that the user has named.
            "trust_env": False,
        }
        if self.user is not None:
            arguments["auth"] = (self.user, self.password or "")
        return arguments

    def _tls(self) -> ssl.SSLContext | bool:
        if not self.url.startswith("https:"):
            return True
        try:
            context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise InvalidArgumentError(
                "bad-tls-file", f"the files for TLS cannot be read: {error}"
            ) from None
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
