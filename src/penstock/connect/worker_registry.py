"""Connect workers that outlive the program that starts them. There is one per folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.connect.errors import ConnectError
from penstock.connect.rest_client import RestConnect
from penstock.connect.worker import installed, wait_until_ready, worker_command
from penstock.connect.worker_config import worker_properties
from penstock.connect.worker_folder import WorkerFolder
from penstock.kafka.broker_folder import choose_port
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.processes.detached import end_detached, find_above, start_detached

#: Where a project keeps its worker, below the project's folder.
PROJECT_WORKER = Path(".penstock") / "connect"

_ANSWER_S = 3.0


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The state of a worker's folder. ``is_running`` is read from the lock."""

    folder: Path
    is_running: bool
    is_ready: bool = False
    pid: int | None = None
    url: str | None = None


def find_project_worker(start: Path | None = None) -> WorkerFolder | None:
    """Find the worker's folder of the project, in this folder or the nearest one above."""
    found = find_above(PROJECT_WORKER / "worker.properties", start)
    return None if found is None else WorkerFolder(found)


def running_project_worker() -> str | None:
    """Return the URL of the worker that ``penstock connect start`` started, if it runs."""
    folder = find_project_worker()
    return folder.url if folder is not None and folder.is_in_use() else None


def status(folder: Path) -> WorkerStatus:
    """Return the state of a folder. A worker that crashed or was killed does not run."""
    worker = WorkerFolder(folder.absolute())
    if not worker.is_in_use():
        return WorkerStatus(worker.root, is_running=False)
    is_ready = RestConnect(worker.url, timeout_s=_ANSWER_S).is_ready()
    return WorkerStatus(worker.root, True, is_ready, worker.pid, worker.url)


def start(
    folder: Path,
    cluster: Mapping[str, Any],
    service_id: str,
    *,
    port: int | None = None,
    plugins: tuple[Path, ...] = (),
    properties: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> WorkerStatus:
    """Start a worker that keeps running, and wait until it is ready.

    Raises:
        ConnectError: ``connect-folder-in-use`` when it runs already, or it does not start.
        JavaError: no Java was found.
    """
    worker = WorkerFolder(folder.absolute())
    lock = worker.lock()
    try:
        java, distribution = installed(progress)
        port = choose_port(port, worker.port)
        folders = [distribution.plugins, *(each for each in plugins if each.is_dir())]
        settings = worker_properties(
            cluster, service_id, port=port, plugins=folders, given=properties
        )
        worker.prepare(port, settings)
        command = worker_command(java, distribution, worker)
        start_detached(command, worker, lock, lambda process: wait_until_ready(process, worker))
    finally:
        os.close(lock)
    return status(folder)


def stop(folder: Path) -> bool:
    """Stop the worker of the folder, and return whether one was running.

    Raises:
        ConnectError: ``connect-stuck`` when it cannot be ended.
    """
    worker = WorkerFolder(folder.absolute())
    if not worker.is_in_use():
        return False
    if end_detached(worker):
        return True
    raise ConnectError(
        "connect-stuck",
        f"the Connect worker in {str(worker.root)!r} (pid {worker.pid}) does not end",
        fix=f"end the process that holds {str(worker.root / 'lock')!r} by hand",
    )
