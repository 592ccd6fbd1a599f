"""Options of a server: its address, its credentials, TLS and the limits of a request."""

from __future__ import annotations

import ipaddress
import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from penstock.config import (
    APPLICATION_SERVER,
    SERVER_ALLOW_ANONYMOUS,
    SERVER_DEFAULT_ROWS,
    SERVER_LISTEN,
    SERVER_MAX_FEEDS,
    SERVER_MAX_REQUEST_BYTES,
    SERVER_MAX_ROWS,
    SERVER_READ_TOKENS,
    SERVER_READ_USERS,
    SERVER_REQUEST_TIMEOUT_MS,
    SERVER_THREADS,
    SERVER_TLS_CA,
    SERVER_TLS_CERTIFICATE,
    SERVER_TLS_KEY,
    SERVER_TOKENS,
    SERVER_USERS,
    SERVER_WRITE_TOKENS,
    SERVER_WRITE_USERS,
    StreamsConfig,
)
from penstock.errors import ConfigError
from penstock.serving.credentials import ANYONE, Credentials

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files of the server's certificate, and what other instances are checked against."""

    certificate: Path
    key: Path
    ca: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a request; the settings ``penstock.server.*`` say what each one means."""

    request_s: float = 10.0
    request_bytes: int = 16_384
    default_rows: int = 1_000
    max_rows: int = 10_000
    max_feeds: int = 100
    threads: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Everything that a server needs to know besides the application."""

    host: str = "127.0.0.1"
    #: 0 takes any free one.
    port: int = 0
    credentials: Credentials = ANYONE
    tls: Tls | None = None
    limits: Limits = field(default_factory=Limits)
    #: Names that an anonymous caller may use in Host, besides loopback names and IP addresses.
    names: frozenset[str] = frozenset()

    @staticmethod
    def of(config: StreamsConfig, *, opens: str = "read all stores") -> ServerOptions | None:
        """Return what the configuration says; None if it names no ``application.server``.

        Args:
            config: The configuration.
            opens: What a caller without credentials could do, for errors and warnings.

        Raises:
            ConfigError: ``open-server``: an address other than loopback without credentials, or
                ``bad-setting``: TLS files that are missing or incomplete.
        """
        public = config[APPLICATION_SERVER]
        if not public:
            return None
        host, _, port = (config[SERVER_LISTEN] or public).rpartition(":")
        host = host.strip("[]")
        credentials = Credentials.of(
            full_tokens=config[SERVER_TOKENS],
            write_tokens=config[SERVER_WRITE_TOKENS],
            read_tokens=config[SERVER_READ_TOKENS],
            full_users=config[SERVER_USERS],
            write_users=config[SERVER_WRITE_USERS],
            read_users=config[SERVER_READ_USERS],
        )
        options = ServerOptions(
            host="127.0.0.1" if host == "localhost" else host,
            port=int(port),
            credentials=credentials,
            tls=_tls(config),
            limits=Limits(
                request_s=config[SERVER_REQUEST_TIMEOUT_MS] / 1000,
                request_bytes=config[SERVER_MAX_REQUEST_BYTES],
                default_rows=min(config[SERVER_DEFAULT_ROWS], config[SERVER_MAX_ROWS]),
                max_rows=config[SERVER_MAX_ROWS],
                max_feeds=config[SERVER_MAX_FEEDS],
                threads=config[SERVER_THREADS],
            ),
            names=frozenset({public.rpartition(":")[0].strip("[]").lower()}),
        )
        options.check(is_open_allowed=config[SERVER_ALLOW_ANONYMOUS], opens=opens)
        return options

    def check(self, *, is_open_allowed: bool, opens: str = "read all stores") -> None:
        """Refuse to be open to the network by accident, and warn when it is on purpose."""
        if is_loopback(self.host):
            return
        if self.credentials.is_anonymous and not is_open_allowed:
            raise ConfigError(
                "open-server",
                f"the server would listen on {self.host}, where others can {opens} without a token",
                fix="set penstock.server.read.tokens, bind 127.0.0.1 with penstock.server.listen,"
                " or set penstock.server.allow.anonymous if that is wanted",
            )
        if self.credentials.is_anonymous:
            _log.warning(
                "everyone who reaches %s:%d can %s: no token is needed",
                self.host, self.port, opens,
            )  # fmt: skip
        elif self.tls is None:
            _log.warning(
                "tokens and answers of %s:%d travel in clear text: set"
                " penstock.server.tls.certificate",
                self.host, self.port,
            )  # fmt: skip


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(config: StreamsConfig) -> Tls | None:
    certificate, key = config[SERVER_TLS_CERTIFICATE], config[SERVER_TLS_KEY]
    if not certificate and not key:
        return None
    if not certificate or not key:
        missing = SERVER_TLS_CERTIFICATE if key else SERVER_TLS_KEY
        raise ConfigError(
            "bad-setting",
            f"{missing.name} is not set, and TLS needs a certificate and its key",
            fix="set both, or none of them",
        )
    ca = config[SERVER_TLS_CA]
    named = {
        SERVER_TLS_CERTIFICATE.name: Path(certificate),
        SERVER_TLS_KEY.name: Path(key),
        **({SERVER_TLS_CA.name: Path(ca)} if ca else {}),
    }
    for name, path in named.items():
        if not path.is_file():
            raise ConfigError(
                "bad-setting", f"{name} names {path}, which is not a file", fix="name a PEM file"
            )
    _check_pair(Path(certificate), Path(key))
    return Tls(
        certificate=Path(certificate),
        key=Path(key),
        ca=Path(ca) if ca else None,
    )


def _check_pair(certificate: Path, key: Path) -> None:
    """Refuse files that the server cannot use: Granian would end the whole process."""
    why = (
        "it has a password, which the server cannot use" if b"ENCRYPTED" in key.read_bytes() else ""
    )
    if not why:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
            return
        except (ssl.SSLError, OSError) as error:
            why = f"it and {certificate} do not belong together, or are not PEM files: {error}"
    raise ConfigError(
        "bad-setting",
        f"{SERVER_TLS_KEY.name} names {key}: {why}",
        fix="name the key of the certificate, without a password: openssl pkcs8 -in … -out …",
    )
