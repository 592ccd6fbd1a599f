"""Connect workers that outlive the program that starts them. There is one per folder."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.connect.errors import ConnectError
from penstock.connect.rest_client import RestConnect
from penstock.connect.worker import installed, wait_until_ready, worker_command
from penstock.connect.worker_config import worker_properties
from penstock.connect.worker_folder import WorkerFolder
from penstock.kafka.broker_folder import choose_port
from penstock.kafka.broker_process import launch_detached
from penstock.kafka.download.jar_download import Progress

#: Where a project keeps its worker, below the project's folder.
PROJECT_WORKER = Path(".penstock") / "connect"

_STOP_TIMEOUT_S = 30.0
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
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / PROJECT_WORKER / "worker.properties").is_file():
            return WorkerFolder(folder / PROJECT_WORKER)
    return None


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
        process = launch_detached(worker_command(java, distribution, worker), worker, lock)
        try:
            wait_until_ready(process, worker)
        except BaseException:
            process.kill()
            process.wait()
            raise
    finally:
        os.close(lock)
    # The worker outlives this process. Without this line, Python warns that it still runs.
    process.returncode = 0
    return status(folder)


def stop(folder: Path) -> bool:
    """Stop the worker of the folder, and return whether one was running.

    Raises:
        ConnectError: ``connect-stuck`` when it cannot be ended.
    """
    worker = WorkerFolder(folder.absolute())
    if not worker.is_in_use():
        return False
    for kind, patience_s in ((signal.SIGTERM, _STOP_TIMEOUT_S), (signal.SIGKILL, 5.0)):
        if worker.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, kind)
        if _has_ended(worker, patience_s):
            worker.pid_file.unlink(missing_ok=True)
            return True
    raise ConnectError(
        "connect-stuck",
        f"the Connect worker in {str(worker.root)!r} (pid {worker.pid}) does not end",
        fix=f"end the process that holds {str(worker.root / 'lock')!r} by hand",
    )


def _has_ended(worker: WorkerFolder, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while worker.is_in_use():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
