"""Brokers that outlive the program that starts them. There is one per folder."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.kafka.broker_folder import BrokerFolder, choose_port
from penstock.kafka.broker_listener import HOST
from penstock.kafka.broker_process import (
    answers,
    java_command,
    wait_until_ready,
)
from penstock.kafka.class_archive import archive_listed_classes
from penstock.kafka.distribution import installed
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.errors import BrokerError, JavaError
from penstock.kafka.installation import ensure_installed
from penstock.kafka.java import find_java
from penstock.kafka.processes.detached import end_detached, find_above, start_detached

#: Where a project keeps its broker, below the project's folder.
PROJECT_BROKER = Path(".penstock") / "broker"


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """The state of a broker's folder. ``is_running`` is read from the lock, not the process id."""

    folder: Path
    is_running: bool
    is_answering: bool = False
    pid: int | None = None
    port: int | None = None
    cluster_id: str | None = None

    @property
    def bootstrap_servers(self) -> str | None:
        return f"{HOST}:{self.port}" if self.is_running and self.port is not None else None


def find_project_broker(start: Path | None = None) -> BrokerFolder | None:
    """Find the broker folder of the project, in this folder or the nearest one above."""
    found = find_above(PROJECT_BROKER / "server.properties", start)
    return None if found is None else BrokerFolder(found)


def running_project_broker() -> str | None:
    """Return the address of the broker that ``penstock broker start`` started, if it runs."""
    folder = find_project_broker()
    if folder is None or folder.port is None or not folder.is_in_use():
        return None
    return f"{HOST}:{folder.port}"


def status(folder: Path) -> BrokerStatus:
    """Return the state of a folder. A broker that crashed or was killed does not run."""
    broker = BrokerFolder(folder.absolute())
    if not broker.is_in_use():
        return BrokerStatus(broker.root, is_running=False, cluster_id=broker.cluster_id)
    is_answering = broker.port is not None and answers(f"{HOST}:{broker.port}", timeout_s=3.0)
    return BrokerStatus(broker.root, True, is_answering, broker.pid, broker.port, broker.cluster_id)


def start(
    folder: Path, *, port: int | None = None, progress: Progress | None = None
) -> BrokerStatus:
    """Start a broker that keeps running, with its data in the folder; wait until it answers.

    Raises:
        BrokerError: ``broker-folder-in-use`` when it runs already, or it does not start.
        JavaError: no Java was found.
    """
    broker = BrokerFolder(folder.absolute())
    lock = broker.lock()
    try:
        java, distribution = ensure_installed(progress)
        broker.prepare(distribution, choose_port(port, broker.port), {})
        command = java_command(java, distribution, broker)
        start_detached(command, broker, lock, lambda process: wait_until_ready(process, broker))
    finally:
        os.close(lock)
    return status(folder)


def stop(folder: Path) -> bool:
    """Stop the broker of the folder, keep its data, and return whether one was running.

    Raises:
        BrokerError: ``broker-stuck`` when it cannot be ended.
    """
    broker = BrokerFolder(folder.absolute())
    if not broker.is_in_use():
        return False
    if end_detached(broker):
        _archive_classes(broker)
        return True
    raise BrokerError(
        "broker-stuck",
        f"the broker in {str(broker.root)!r} (pid {broker.pid}) does not end",
        fix=f"end the process that holds {str(broker.root / 'lock')!r} by hand",
    )


def remove(folder: Path) -> None:
    """Delete a broker's folder with all data; the broker must not run."""
    os.close(BrokerFolder(folder.absolute()).lock())
    shutil.rmtree(folder, ignore_errors=True)


def _archive_classes(broker: BrokerFolder) -> None:
    # A broker stops as well if Java or Kafka have been removed meanwhile.
    with suppress(JavaError):
        distribution = installed()
        if distribution is not None:
            archive_listed_classes(find_java(), distribution, broker)
