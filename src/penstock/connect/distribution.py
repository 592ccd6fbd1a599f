"""Kafka Connect's files, downloaded once per user into the user's cache folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.kafka.distribution import KAFKA_VERSION, only_one_process
from penstock.kafka.download.ivy import fetch_jars
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.java import Java
from penstock.kafka.machine import cache_folder

#: A worker with its converters and transformations, and the connectors that read and write files.
_MODULES = [
    ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
    ("org.apache.kafka", "connect-json", KAFKA_VERSION),
    ("org.apache.kafka", "connect-transforms", KAFKA_VERSION),
    ("org.apache.kafka", "connect-file", KAFKA_VERSION),
    # Connect does not depend on a logger, and without one the worker's log stays empty.
    ("org.slf4j", "slf4j-simple", "1.7.36"),
]
_FILE_CONNECTORS = f"connect-file-{KAFKA_VERSION}.jar"


@dataclass(frozen=True, slots=True)
class ConnectDistribution:
    """One version of Kafka Connect in the cache. A rename puts it there as a whole."""

    folder: Path

    @property
    def class_path(self) -> str:
        return os.pathsep.join(str(jar) for jar in sorted((self.folder / "jars").glob("*.jar")))

    @property
    def plugins(self) -> Path:
        """Return the folder with the connectors that every worker has."""
        return self.folder / "plugins"


def installed_connect() -> ConnectDistribution | None:
    """Return the cached distribution without downloading anything."""
    found = ConnectDistribution(cache_folder() / f"connect-{KAFKA_VERSION}")
    file_connectors = found.plugins / "connect-file" / _FILE_CONNECTORS
    return found if file_connectors.is_file() else None


def ensure_connect(java: Java, report: Progress) -> ConnectDistribution:
    """Return the distribution; download it if it is missing.

    Raises:
        BrokerError: ``kafka-download-failed``.
    """
    present = installed_connect()
    if present is not None:
        return present
    with only_one_process("connect", report):
        return installed_connect() or _install(java, report)


def _install(java: Java, report: Progress) -> ConnectDistribution:
    cache = cache_folder()
    for abandoned in cache.glob("connect-fetch-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="connect-fetch-", dir=cache) as scratch:
        work = Path(scratch)
        fetch_jars(java, _MODULES, work / "jars", report, what="Kafka Connect's files")
        fresh = ConnectDistribution(work / "connect")
        own = fresh.plugins / "connect-file"
        own.mkdir(parents=True)
        (work / "jars" / _FILE_CONNECTORS).rename(own / _FILE_CONNECTORS)
        (work / "jars").rename(fresh.folder / "jars")
        target = cache / f"connect-{KAFKA_VERSION}"
        if target.exists():
            shutil.rmtree(target)
        fresh.folder.rename(target)
    return ConnectDistribution(target)
