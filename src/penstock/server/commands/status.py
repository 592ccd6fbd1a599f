"""The status of each command, as ``/status`` reports it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

Status = Literal["QUEUED", "PARSING", "EXECUTING", "RUNNING", "TERMINATED", "SUCCESS", "ERROR"]


@dataclass(frozen=True, slots=True)
class CommandStatus:
    """The last known state of one command."""

    status: Status
    message: str = ""
    query_id: str | None = None


class CommandStatuses:
    """The last status of each command id. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, CommandStatus] = {}

    def set(self, command_id: str, status: CommandStatus) -> None:
        with self._lock:
            self._known[command_id] = status

    def get(self, command_id: str) -> CommandStatus | None:
        """Return the status of a command; the name may be written with or without backticks."""
        with self._lock:
            found = self._known.get(command_id)
        kind, _, rest = command_id.partition("/")
        name, _, action = rest.rpartition("/")
        if found is None and not name.startswith("`"):
            return self.get(f"{kind}/`{name}`/{action}") if name else None
        return found

    def all(self) -> dict[str, CommandStatus]:
        with self._lock:
            return dict(self._known)
