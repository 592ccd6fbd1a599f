"""Find the cluster of a command: the one that the user names, or the broker of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.config import BOOTSTRAP_SERVERS, STATE_DIR
from penstock.kafka.admin import Admin
from penstock.kafka.broker_registry import find_project_broker, running_project_broker
from penstock.kafka.java_settings import Kind, for_librdkafka
from penstock.kafka.nearby_broker import nearby_broker

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
    servers = bootstrap or given.get("bootstrap.servers") or nearby_broker()
    return for_librdkafka(given | {"bootstrap.servers": servers}, kind)


def connect(bootstrap: str | None, command_config: Path | None, timeout_s: float = 10.0) -> Admin:
    return Admin(client_settings(bootstrap, command_config, "admin"), timeout_s=timeout_s)


def with_project_broker(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that name a broker: their own, or that of the project, if it runs.

    The state of what runs on the project's broker is kept beside it: a folder that all projects
    share would mix them up, since their brokers know nothing of each other.
    """
    servers = None if settings.get(BOOTSTRAP_SERVERS.name) else running_project_broker()
    folder = None if servers is None else find_project_broker()
    if folder is None:
        return dict(settings)
    beside = str(folder.root.parent / "state")
    return {STATE_DIR.name: beside, **settings, BOOTSTRAP_SERVERS.name: servers}


def read_properties(file: Path) -> dict[str, str]:
    """Read lines of name=value; empty lines and lines that start with # or ! are ignored."""
    settings = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and text[0] not in "#!":
            name, _, value = text.partition("=")
            settings[name.strip()] = value.strip()
    return settings
