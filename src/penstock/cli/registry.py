"""``penstock registry``: a schema registry for users who do not run one."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.connection import BootstrapOption, CommandConfigOption, client_settings
from penstock.cli.output import JsonOption, print_done, print_json, print_note
from penstock.cli.sql.needed import needing_sql
from penstock.errors import InvalidArgumentError
from penstock.extras import require
from penstock.runtime.signals import wait_until_set

if TYPE_CHECKING:
    from penstock.registry.registry import LogRegistry
    from penstock.registry.registry_server import RegistryServer

_REGISTRY = "penstock.registry"


def registry(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Port; 0 takes any free one.")
    ] = 8081,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. There is no login: keep it local.")
    ] = "127.0.0.1",
    topic: Annotated[
        str, typer.Option("--topic", help="Topic that keeps the schemas.")
    ] = "_schemas",
    bootstrap: BootstrapOption = None,
    command_config: CommandConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a schema registry, with the interface of Confluent's, until Ctrl-C or SIGTERM.

    Schemas are kept in a compacted topic, in the records that Confluent's registry writes.
    """
    require("penstock registry", "formats")
    settings = client_settings(bootstrap, command_config, "admin")
    log = needing_sql(f"{_REGISTRY}.kafka_log").KafkaLog(settings, topic)
    schemas: LogRegistry = needing_sql(f"{_REGISTRY}.registry").LogRegistry(log)
    # Reading now reports a missing cluster at once, instead of at the first request.
    known = len(schemas.subjects())
    with _server(schemas, port, host) as server:
        if as_json:
            print_json({"url": server.url, "topic": topic, "subjects": known}, indent=False)
        else:
            print_done(f"schema registry on {server.url}, with {known} subjects in {topic!r}")
            print_note(
                f"  use it with schema.registry.url={server.url}, in SQL"
                " ksql.schema.registry.url; Ctrl-C stops it"
            )
        _wait()
    schemas.close()


def _server(schemas: LogRegistry, port: int, host: str) -> RegistryServer:
    module = needing_sql(f"{_REGISTRY}.registry_server")
    try:
        made: RegistryServer = module.RegistryServer(schemas, port, host)
    except OSError as error:
        raise InvalidArgumentError(
            "port-taken",
            f"cannot listen on {host}:{port}: {error.strerror}",
            fix="choose another --port, or --port 0 for any free one",
        ) from None
    return made


def _wait() -> None:
    """Wait until the user presses Ctrl-C or the process gets SIGTERM."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ask)
    wait_until_set(asked)
