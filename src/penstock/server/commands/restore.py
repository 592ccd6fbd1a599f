"""Write the command topic again from its copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.config import SERVER_COMMAND_TOPIC, StreamsConfig
from penstock.errors import SerializationError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings
from penstock.server.commands.backup import read_backup
from penstock.server.commands.command import Command, is_of_ksqldb
from penstock.server.commands.log import Entry, KafkaCommandLog, commands_topic


@dataclass(frozen=True, slots=True)
class Restored:
    """How many commands were written, and the offsets of lines that are not commands."""

    commands: int
    skipped: tuple[int, ...]


def readable(file: Path) -> tuple[list[Entry], tuple[int, ...]]:
    """Return the commands of a copy, and the offsets of those that cannot be read.

    Raises:
        SerializationError: ``newer-command``: only a newer server can read it.
    """
    good, bad = [], []
    for entry in read_backup(file):
        try:
            Command.of(entry.value)
        except SerializationError as error:
            if error.code == "newer-command":
                # The line is intact. Leaving it out would lose a command that a newer server knows.
                raise error.located(f"{file}, offset {entry.offset}") from None
            bad.append(entry.offset)
        else:
            good.append(entry)
    return good, tuple(bad)


def restore_commands(config: StreamsConfig, service_id: str, file: Path) -> Restored:
    """Delete the command topic and write it again from a copy; all servers must be stopped.

    Commands keep their numbers, so queries keep their ids and their state.

    Raises:
        SerializationError: ``bad-command``: the topic has commands of ksqlDB. It is not deleted.
    """
    good, bad = readable(file)
    admin = Admin(admin_settings(config))
    pattern = config[SERVER_COMMAND_TOPIC]
    _refuse_ksqldb(config, service_id, pattern)
    admin.delete_topics([commands_topic(service_id, pattern)], missing_ok=True)
    log = KafkaCommandLog(config, service_id, pattern)
    try:
        log.become_writer()
        for entry in good:
            log.write(entry.key or b"", entry.value or b"")
    finally:
        log.close()
    return Restored(len(good), bad)


def _refuse_ksqldb(config: StreamsConfig, service_id: str, pattern: str | None) -> None:
    log = KafkaCommandLog(config, service_id, pattern)
    try:
        log.begin()
        end = log.end()
        while log.position < end:
            if any(is_of_ksqldb(entry.value) for entry in log.read()):
                raise SerializationError(
                    "bad-command",
                    f"topic {log.topic!r} has commands of ksqlDB, so it is not deleted",
                    fix="name another topic with penstock.server.command.topic",
                )
    finally:
        log.close()
