"""The folder of one Java process that Penstock starts: a broker's, or a Connect worker's.

``pid`` is its process id and ``port`` the port for clients. The process holds ``lock`` as long as
it lives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock.kafka.processes.process_files import is_locked, locked, number_in, tail_of

_LOG_LIMIT_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class ProcessFolder(ABC):
    """The files of one process. ``root`` is absolute. A process starts only with the lock."""

    root: Path

    @property
    @abstractmethod
    def log(self) -> Path:
        """Return the file that the process writes its log to."""

    @abstractmethod
    def in_use_error(self) -> PenstockError:
        """Return the error for a folder in which a process runs already."""

    @property
    def pid_file(self) -> Path:
        return self.root / "pid"

    @property
    def port(self) -> int | None:
        return number_in(self.root / "port")

    @property
    def pid(self) -> int | None:
        return number_in(self.pid_file)

    def is_in_use(self) -> bool:
        """Return whether a process runs, starts or stops in this folder.

        This asks for the lock: a process id in a file may belong to another process by now.
        """
        return is_locked(self.root)

    def lock(self) -> int:
        """Lock the folder, and return the open file, which the process inherits.

        Raises:
            PenstockError: the one of ``in_use_error``.
        """
        lock = locked(self.root)
        if lock is None:
            raise self.in_use_error()
        return lock

    def clear_last_start(self, port: int) -> None:
        """Prepare the files that every start needs. The folder must be locked."""
        self.pid_file.unlink(missing_ok=True)
        if self.log.is_file() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
        # Compression libraries are unpacked here. In /tmp they would remain after a kill.
        (self.root / "tmp").mkdir(exist_ok=True)
        (self.root / "port").write_text(str(port), encoding="utf-8")

    def log_tail(self, lines: int = 15) -> str:
        """Return the end of the log, indented for an error message."""
        return tail_of(self.log, lines)
