"""The folder of one Connect worker: its files, its lock, and what a start needs in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.connect.errors import ConnectError
from penstock.kafka.broker_folder import escaped
from penstock.kafka.broker_listener import HOST
from penstock.kafka.processes.process_files import is_locked, locked, number_in, tail_of

_LOG_LIMIT_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class WorkerFolder:
    """The files of one worker. ``root`` is absolute. A worker starts only with the lock."""

    root: Path

    @property
    def log(self) -> Path:
        return self.root / "connect.log"

    @property
    def properties(self) -> Path:
        return self.root / "worker.properties"

    @property
    def pid_file(self) -> Path:
        return self.root / "pid"

    @property
    def port(self) -> int | None:
        return number_in(self.root / "port")

    @property
    def pid(self) -> int | None:
        return number_in(self.pid_file)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def is_in_use(self) -> bool:
        return is_locked(self.root)

    def lock(self) -> int:
        """Lock the folder, and return the open file, which the worker inherits.

        Raises:
            ConnectError: ``connect-folder-in-use``.
        """
        lock = locked(self.root)
        if lock is None:
            raise ConnectError(
                "connect-folder-in-use",
                f"a Connect worker already runs in {str(self.root)!r} (pid {self.pid})",
                fix=f"use it with ksql.connect.url={self.url}, or stop it with"
                " penstock connect stop",
            )
        return lock

    def prepare(self, port: int, properties: Mapping[str, str]) -> None:
        """Write the files of this start. The folder must be locked."""
        self.pid_file.unlink(missing_ok=True)
        if self.log.is_file() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            self.log.replace(self.root / "connect.log.1")
        (self.root / "tmp").mkdir(exist_ok=True)
        lines = "".join(f"{name}={escaped(value)}\n" for name, value in properties.items())
        # The settings of a secured cluster have passwords in them.
        opened = os.open(self.properties, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(opened, "w", encoding="utf-8") as out:
            out.write(lines)
        (self.root / "port").write_text(str(port), encoding="utf-8")

    def log_tail(self, lines: int = 15) -> str:
        """Return the end of the worker's log, indented for an error message."""
        return tail_of(self.log, lines)
