"""Find the cluster of a command: the one that the user names, or the project's running broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.kafka.admin import Admin
from penstock.kafka.broker_registry import find_project_broker, running_project_broker
from penstock.kafka.errors import BrokerError
from penstock.kafka.java_settings import Kind, for_librdkafka

BootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT",
        help="Kafka brokers; without it, the project's running broker.",
    ),
]
CommandConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Client settings as name=value lines, for clusters that need a login.",
    ),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for the cluster's answer.")
]


def client_settings(
    bootstrap: str | None, command_config: Path | None, kind: Kind
) -> dict[str, Any]:
    """Return librdkafka's settings for one client.

    Raises:
        BrokerError: ``no-broker`` if the user names no broker and the project has none running.
    """
    given = {} if command_config is None else read_properties(command_config)
    servers = bootstrap or given.get("bootstrap.servers") or project_bootstrap()
    return for_librdkafka(given | {"bootstrap.servers": servers}, kind)


def connect(bootstrap: str | None, command_config: Path | None, timeout_s: float = 10.0) -> Admin:
    return Admin(client_settings(bootstrap, command_config, "admin"), timeout_s=timeout_s)


def project_bootstrap() -> str:
    """Return the address of the broker that ``penstock broker start`` started for this project."""
    servers = running_project_broker()
    if servers is not None:
        return servers
    folder = find_project_broker()
    why = (
        "this project has none" if folder is None else f"the one in {str(folder.root)!r} is stopped"
    )
    raise BrokerError(
        "no-broker",
        f"no broker was named, and {why}",
        fix="start one with: penstock broker start, or name one with --bootstrap HOST:PORT",
    )


def read_properties(file: Path) -> dict[str, str]:
    """Read lines of name=value; empty lines and lines that start with # or ! are ignored."""
    settings = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and text[0] not in "#!":
            name, _, value = text.partition("=")
            settings[name.strip()] = value.strip()
    return settings
