"""An archive of the classes a starting broker loads: more than a second less per start.

Made once per Java by running a broker for a moment. A broker starts without it just as well.
"""

from __future__ import annotations

import fcntl
import tempfile
from contextlib import suppress
from pathlib import Path

from penstock.kafka.broker_folder import BrokerFolder, free_port
from penstock.kafka.broker_process import java_command, launch_owned, wait_until_ready
from penstock.kafka.distribution import Distribution
from penstock.kafka.errors import BrokerError
from penstock.kafka.ivy import Progress
from penstock.kafka.java import Java


def ensure_class_archive(java: Java, distribution: Distribution, report: Progress) -> None:
    """Makes the archive for this Java, unless it is there, failed before or is being made."""
    archive = distribution.class_archive(java)
    if archive.exists():
        return
    with open(archive.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not archive.exists():
            report("preparing quick starts")
            _make(java, distribution, archive)


def _make(java: Java, distribution: Distribution, archive: Path) -> None:
    fresh = archive.with_suffix(".new")
    with tempfile.TemporaryDirectory(prefix="penstock-classes-") as scratch:
        folder = BrokerFolder(Path(scratch).resolve())
        with suppress(BrokerError):
            _run_once(java, distribution, folder, fresh)
    if not fresh.is_file():
        # Some runtimes cannot write archives. An empty one says not to try at every start.
        fresh.touch()
    fresh.replace(archive)


def _run_once(java: Java, distribution: Distribution, folder: BrokerFolder, fresh: Path) -> None:
    lock = folder.lock()
    with open(lock, "rb"):
        folder.prepare(distribution, free_port(), {})
        command = java_command(java, distribution, folder)
        command.insert(1, f"-XX:ArchiveClassesAtExit={fresh}")
        process = launch_owned(command, folder, lock, is_scratch=False)
    # Leaving the block closes the watchdog's input; the archive is written as the broker ends.
    with process:
        wait_until_ready(process, folder)
