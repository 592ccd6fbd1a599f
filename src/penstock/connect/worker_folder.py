"""The folder of one Connect worker: its files, its lock, and what a start needs in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.connect.errors import ConnectError
from penstock.kafka.broker_folder import escaped
from penstock.kafka.broker_listener import HOST
from penstock.kafka.processes.process_folder import ProcessFolder


@dataclass(frozen=True, slots=True)
class WorkerFolder(ProcessFolder):
    """The files of one worker."""

    @property
    def log(self) -> Path:
        return self.root / "connect.log"

    @property
    def properties(self) -> Path:
        return self.root / "worker.properties"

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def in_use_error(self) -> ConnectError:
        return ConnectError(
            "connect-folder-in-use",
            f"a Connect worker already runs in {str(self.root)!r} (pid {self.pid})",
            fix=f"use it with ksql.connect.url={self.url}, or stop it with penstock connect stop",
        )

    def prepare(self, port: int, properties: Mapping[str, str]) -> None:
        """Write the files of this start. The folder must be locked."""
        self.clear_last_start(port)
        lines = "".join(f"{name}={escaped(value)}\n" for name, value in properties.items())
        # The settings of a secured cluster have passwords in them.
        opened = os.open(self.properties, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(opened, "w", encoding="utf-8") as out:
            out.write(lines)
