"""How one node of an SQL server is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.config import STATE_DIR, StreamsConfig
from penstock.server.commands.backup import CommandBackup
from penstock.sql.ksql_settings import DEFAULT_SERVICE, SERVICE_ID

BACKUP_FOLDER = "ksql.metastore.backup.location"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """Everything that a node needs to know besides its engine."""

    #: How to reach Kafka, and the defaults of queries.
    config: StreamsConfig = field(default_factory=StreamsConfig)
    #: The settings that were given, those of ksqlDB among them.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Host and port under which others know this node.
    host: str = "localhost:8088"
    #: How long the commands of the topic may take at the start.
    start_s: float = 600.0
    #: How long a request waits for commands.
    catch_up_s: float = 5.0
    #: Where the copy of the command topic is; None keeps no copy.
    backup_file: Path | None = None

    @property
    def service_id(self) -> str:
        return self.settings.get(SERVICE_ID, DEFAULT_SERVICE)

    def backup(self) -> CommandBackup | None:
        return None if self.backup_file is None else CommandBackup(self.backup_file)


def backup_file(settings: Mapping[str, str], config: StreamsConfig) -> Path:
    """Return where the copy of a service's command topic is.

    The folder is ``ksql.metastore.backup.location``, else a part of ``state.dir``.
    """
    service_id = settings.get(SERVICE_ID, DEFAULT_SERVICE)
    given = settings.get(BACKUP_FOLDER)
    folder = Path(given) if given else Path(config[STATE_DIR]) / "sql-server"
    return folder.expanduser() / f"commands-{service_id}.jsonl"
