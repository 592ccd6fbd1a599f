"""What a run needs of a Spark cluster, whichever program manages its hosts."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.cluster.hosts import Host


@dataclass
class Worker:
    """The daemon that starts the executors of one host."""

    number: int
    host: Host
    process: subprocess.Popen[bytes] | None = None
    #: Whether a fault has taken it away.
    is_away: bool = False

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None


class SparkCluster(Protocol):
    """A cluster of two hosts. Starting and killing happens in the main thread."""

    workers: list[Worker]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the application's settings for this cluster, ``spark.master`` among them."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Return what the driver's environment has to name."""

    def start_all(self) -> None:
        """Start everything, and return when an application can be submitted."""

    def start(self, worker: Worker) -> None:
        """Start the daemon of a worker that does not run."""

    def supervise(self) -> list[str]:
        """Start daemons again that no fault has ended, and say which ones."""

    def kill(self, worker: Worker) -> None:
        """End a worker's daemon as a crash would."""

    def start_manager(self) -> None:
        """Start the server that gives applications their executors, if it does not run."""

    def kill_manager(self) -> None:
        """End that server as a crash would."""

    def close(self) -> None:
        """Remove what is outside of the folder of the run."""


def is_listening(address: str, port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True
