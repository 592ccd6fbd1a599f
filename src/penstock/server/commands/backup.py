"""A copy of the command topic in a file, to notice damage and to repair it."""

from __future__ import annotations

import fcntl
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import orjson

from penstock.errors import ConfigError, StreamsError
from penstock.server.commands.log import Entry


class CommandBackup:
    """One line of JSON per command, written and flushed to disk before the command is run.

    While a node starts, ``check`` compares the topic with the file, record by record. Offsets are
    not compared: a topic that was restored has the same commands at other offsets.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        self._out = file.open("ab")
        self._lock()
        _cut_half_line(file)
        self._known = [entry.value for entry in read_backup(file)]
        self._checked = 0

    def _lock(self) -> None:
        """Lock the file against other servers: two of them would write every command twice."""
        try:
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._out.close()
            raise ConfigError(
                "backup-in-use",
                f"another server keeps its copy of the command topic in {str(self.file)!r}",
                fix="give each server a state.dir of its own, or stop the other one",
            ) from None

    @property
    def missing(self) -> int:
        """Return how many commands of the file the topic has not shown yet."""
        return len(self._known) - self._checked

    def check(self, entry: Entry) -> None:
        """Compare a record with the file, or add it if the file ends before it.

        Raises:
            StreamsError: ``commands-differ``, if the file has another command at this place.
        """
        if self.missing:
            if self._known[self._checked] != entry.value:
                raise StreamsError(
                    "commands-differ",
                    f"command {self._checked} of the topic is not the one in {str(self.file)!r}",
                    fix="run: penstock server restore-commands; or delete the file, if the topic"
                    " is right",
                )
            self._checked += 1
            return
        line = {"offset": entry.offset, "key": _text(entry.key), "value": _text(entry.value)}
        self._out.write(orjson.dumps(line) + b"\n")
        self._out.flush()
        os.fsync(self._out.fileno())

    def check_end(self) -> None:
        """Refuse a topic that ended before the file does: records were deleted.

        Raises:
            StreamsError: ``commands-lost``.
        """
        if self.missing:
            raise StreamsError(
                "commands-lost",
                f"the command topic has {self._checked} commands, and {str(self.file)!r} has"
                f" {len(self._known)}",
                fix="run: penstock server restore-commands; or delete the file, if the topic is"
                " right",
            )

    def close(self) -> None:
        self._out.close()


def _cut_half_line(file: Path) -> None:
    """Remove a last line that is incomplete: its writer was killed before it ran the command."""
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(file, whole)


def read_backup(file: Path) -> Iterator[Entry]:
    """Return the entries of a backup. A last line that was not written to its end is left out."""
    for line in file.read_bytes().split(b"\n")[:-1]:
        try:
            data = orjson.loads(line)
            yield Entry(int(data["offset"]), _bytes(data["key"]), _bytes(data["value"]))
        except (ValueError, TypeError, KeyError):
            raise StreamsError(
                "bad-backup",
                f"{str(file)!r} has a line that is not a command: {line[:80]!r}",
                fix="repair or delete the line, or use the backup of another node",
            ) from None


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else b64decode(value)
