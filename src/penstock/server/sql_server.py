"""``SqlServer``: one process of the SQL server, put together from its settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from penstock.config import (
    APPLICATION_ID,
    APPLICATION_SERVER,
    BOOTSTRAP_SERVERS,
    SERVER_COMMAND_TOPIC,
    SERVER_LISTEN,
    SERVER_MAX_REQUEST_BYTES,
    StreamsConfig,
)
from penstock.errors import ConfigError
from penstock.extras import install_command
from penstock.registry.registry import SchemaRegistry
from penstock.server.application import Services, serve
from penstock.server.commands.log import CommandLog, KafkaCommandLog
from penstock.server.console.console_service import ConsoleService
from penstock.server.headless import FileLog, file_commands
from penstock.server.host_topic import KafkaHostTopic
from penstock.server.hosts import Hosts
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions, backup_file
from penstock.server.planning import Collector
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions
from penstock.sql.engine import SqlEngine
from penstock.sql.functions.regex.linear_regex import is_linear
from penstock.sql.functions.user import UserFunction
from penstock.sql.ksql_settings import DEFAULT_SERVICE, SERVICE_ID
from penstock.sql.processing_log import (
    STREAM_AUTO_CREATE,
    TOPIC_AUTO_CREATE,
    ProcessingLogSettings,
)
from penstock.sql.starting import LISTENERS, cluster_settings, new_engine

_log = logging.getLogger("penstock.server")
_SERVER_PREFIX = "penstock.server."
DEFAULT_LISTEN = "127.0.0.1:8088"
ADVERTISED = "ksql.advertised.listener"
RESPONSE_MS = "ksql.server.command.response.timeout.ms"
#: Statements are longer than questions about stores.
_MOST_BYTES = 1_048_576

#: Creates a further part of the server for a node, such as pull and push queries.
MakeServices = Callable[[ServerNode], Services]


class SqlServer:
    """Run one node and answer over HTTP. Servers with the same service id share a catalog.

    Args:
        settings: ksqlDB's and Kafka's settings by name, such as ``bootstrap.servers``,
            ``ksql.service.id`` and ``listeners``. ``spark.*`` go to Spark.
        queries_file: Runs the statements of this file, and takes no others.
        functions: Functions of users, besides those in ``ksql.extension.dir``.
        registry: Where schemas are kept; else as the settings say.
        services: What is served beside statements.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        queries_file: Path | None = None,
        functions: tuple[UserFunction, ...] = (),
        registry: SchemaRegistry | None = None,
        services: Sequence[MakeServices] = (),
    ) -> None:
        given = {name: str(value) for name, value in settings.items()}
        self._options = server_options(given)
        self._is_headless = queries_file is not None
        for_engine = _for_engine(given, makes_log_stream=self._is_headless)
        engine = new_engine(for_engine, functions=functions, registry=registry)
        cluster = engine.connect(_for_queries(given), keeps_paused=False)
        config = StreamsConfig({**_for_queries(given), **_own_id(given), **_servers(cluster)})
        log = self._log(engine, config, queries_file, given)
        options = NodeOptions(
            config=config,
            settings=given,
            host=_host(given, self._options),
            catch_up_s=float(given.get(RESPONSE_MS, 5_000)) / 1000,
            backup_file=None if self._is_headless else backup_file(given, config),
        )
        service_id = given.get(SERVICE_ID, DEFAULT_SERVICE)
        hosts = Hosts(options.host, KafkaHostTopic(config, service_id))
        supervisor = QuerySupervisor(cluster, given)
        self.node = ServerNode(options, engine, supervisor, log, cluster=cluster, hosts=hosts)
        self._make = services
        self._collector = Collector(self.node.planning)
        self._http: HttpServer | None = None

    @staticmethod
    def _log(
        engine: SqlEngine, config: StreamsConfig, file: Path | None, given: Mapping[str, str]
    ) -> CommandLog:
        if file is None:
            service_id = given.get(SERVICE_ID, DEFAULT_SERVICE)
            return KafkaCommandLog(config, service_id, given.get(SERVER_COMMAND_TOPIC.name))
        return FileLog(file_commands(file.read_text(encoding="utf-8"), engine))

    @property
    def url(self) -> str:
        assert self._http is not None
        return self._http.url

    def start(self) -> Self:
        """Run the commands of the service, then answer requests."""
        if not is_linear():
            _log.warning(
                "google-re2 is not installed: a bad regular expression in a query can hold the"
                " whole server; install it with: %s",
                install_command("sql"),
            )
        try:
            self.node.start()
            self._collector.start()
            services: list[Services] = [
                ConsoleService(self.node, self._options, takes_statements=not self._is_headless)
            ]
            if not self._is_headless:
                services += [make(self.node) for make in self._make]
            self._http = serve(
                self.node, self._options, services, is_headless=self._is_headless
            ).start()
            self.node.announce(with_port(self.node.host, self._http.port))
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Stop answering requests, then end the queries after their current batches."""
        if self._http is not None:
            self._http.stop()
        self._collector.close()
        self.node.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()


def server_options(given: Mapping[str, str]) -> ServerOptions:
    """Return the address of a server, its credentials and the limits of a request.

    ``penstock.server.listen`` is the address; ksqlDB's ``listeners`` is understood, too.

    Raises:
        ConfigError: ``open-server`` without credentials, or ``bad-setting``.
    """
    listen = given.get(SERVER_LISTEN.name) or _address(given.get(LISTENERS)) or DEFAULT_LISTEN
    own = {name: value for name, value in given.items() if name.startswith(_SERVER_PREFIX)}
    own.setdefault(SERVER_MAX_REQUEST_BYTES.name, str(_MOST_BYTES))
    public = _address(given.get(ADVERTISED)) or listen
    config = StreamsConfig(
        {**own, SERVER_LISTEN.name: listen, APPLICATION_SERVER.name: public, **_own_id(given)}
    )
    options = ServerOptions.of(config, opens="run any statement")
    assert options is not None
    return options


def _address(url: str | None) -> str | None:
    """Return host and port of the first of ksqlDB's listeners."""
    if not url:
        return None
    first = url.split(",")[0].strip()
    try:
        parts = urlsplit(first if "://" in first else f"//{first}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None:
        raise ConfigError(
            "bad-setting", f"{first!r} is not a listener", fix="write one as http://127.0.0.1:8088"
        )
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _host(given: Mapping[str, str], options: ServerOptions) -> str:
    name = f"[{options.host}]" if ":" in options.host else options.host
    return _address(given.get(ADVERTISED)) or f"{name}:{options.port}"


def with_port(host: str, port: int) -> str:
    """Return an address with the server's real port, if it asked for any free one (port 0).

    >>> with_port("127.0.0.1:0", 40123), with_port("sql.example:8088", 40123)
    ('127.0.0.1:40123', 'sql.example:8088')
    """
    name, _, given = host.rpartition(":")
    return f"{name}:{port}" if given == "0" else host


def _for_engine(given: Mapping[str, str], *, makes_log_stream: bool = False) -> dict[str, str]:
    """Return the settings of the engine.

    Args:
        given: All settings.
        makes_log_stream: Whether the engine makes the stream of the processing log by itself. Else
            it only makes the topic: the node makes the stream, through the command topic.
    """
    kept = {name: value for name, value in given.items() if not name.startswith(_SERVER_PREFIX)}
    if not makes_log_stream and ProcessingLogSettings.of(kept).creates_stream:
        kept |= {STREAM_AUTO_CREATE: "false", TOPIC_AUTO_CREATE: "true"}
    return kept


def _for_queries(given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of queries; ``application.server`` would be the server's own address."""
    found = cluster_settings(given)
    return {name: value for name, value in found.items() if name != APPLICATION_SERVER.name}


def _own_id(given: Mapping[str, str]) -> dict[str, str]:
    return {APPLICATION_ID.name: f"penstock-sql-{given.get(SERVICE_ID, DEFAULT_SERVICE)}"}


def _servers(cluster: Any) -> dict[str, str]:
    return {BOOTSTRAP_SERVERS.name: cluster.config[BOOTSTRAP_SERVERS]}
