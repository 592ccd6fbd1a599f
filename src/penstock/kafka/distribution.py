"""Kafka's files, downloaded once per user into the user's cache folder."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TextIO

from penstock.kafka.download.ivy import fetch_jars, own_settings
from penstock.kafka.download.jar_download import DownloadError, Progress, download_jars, listed_jars
from penstock.kafka.download.maven import CENTRAL_URL, Repository, maven_mirror
from penstock.kafka.errors import BrokerError
from penstock.kafka.java import Java
from penstock.kafka.machine import cache_folder

log = logging.getLogger(__name__)

KAFKA_VERSION = "4.3.1"
#: The size of all files.
MEGABYTES = 45
#: Kafka does not depend on a logger, and without one the broker's log stays empty.
_MODULES = [
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One version of Kafka in the cache. It is never incomplete: a rename puts it there."""

    folder: Path

    @property
    def class_path(self) -> str:
        """Return every jar by name: an archive of classes is valid for one spelling of the path."""
        return os.pathsep.join(str(jar) for jar in sorted((self.folder / "jars").glob("*.jar")))

    @property
    def checkpoint(self) -> Path:
        """Return the file with the first metadata of a cluster, which is equal for all clusters."""
        return self.folder / "bootstrap.checkpoint"

    def class_archive(self, java: Java) -> Path:
        """Return the path of the archive for faster starts with this Java."""
        return self.folder / f"classes-{java.version}.jsa"


def installed() -> Distribution | None:
    """Return the cached distribution without downloading anything."""
    found = Distribution(cache_folder() / f"kafka-{KAFKA_VERSION}")
    broker = found.folder / "jars" / f"kafka_2.13-{KAFKA_VERSION}.jar"
    return found if found.checkpoint.is_file() and broker.is_file() else None


def download_note() -> str:
    """Return what is downloaded once, how much it is, and where it stays."""
    return f"Kafka {KAFKA_VERSION}, {MEGABYTES} MB, is downloaded once into {cache_folder()}"


def ensure_distribution(java: Java, report: Progress) -> Distribution:
    """Return the distribution; download it if it is missing (45 MB)."""
    present = installed()
    if present is not None:
        return present
    report(download_note())
    with only_one_process("kafka", report):
        return installed() or _install(java, report)


def _install(java: Java, report: Progress) -> Distribution:
    cache = cache_folder()
    for abandoned in cache.glob("kafka-fetch-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="kafka-fetch-", dir=cache) as scratch:
        work = Path(scratch)
        _fetch(java, work / "jars", report)
        fresh = Distribution(work / "kafka")
        fresh.folder.mkdir()
        (work / "jars").rename(fresh.folder / "jars")
        fresh.checkpoint.write_bytes(first_metadata())
        target = cache / f"kafka-{KAFKA_VERSION}"
        if target.exists():
            shutil.rmtree(target)
        fresh.folder.rename(target)
    return Distribution(target)


def _fetch(java: Java, folder: Path, report: Progress) -> None:
    """Download the listed jars, or let Ivy do it where the user has settings for it."""
    if own_settings() is None:
        try:
            repository = maven_mirror(Path.home()) or Repository(CENTRAL_URL)
            download_jars(listed_jars(), repository, folder, report)
            return
        except DownloadError as error:
            # Ivy knows Java's certificates and proxies, and explains what it could not find.
            log.info("the direct download failed, so Ivy tries it: %s", error)
            shutil.rmtree(folder)
    fetch_jars(java, _MODULES, folder, report, MEGABYTES)


def first_metadata() -> bytes:
    """Return the first metadata of a cluster, which Kafka's storage tool would write.

    It is equal for all clusters of one version of Kafka. A Java process to write it would make the
    first start seconds longer.
    """
    name = f"kafka-{KAFKA_VERSION}.checkpoint"
    return files("penstock.kafka.download").joinpath(name).read_bytes()


@contextmanager
def only_one_process(what: str, report: Progress) -> Iterator[None]:
    """Wait until no other process of this user fetches the same thing.

    Raises:
        BrokerError: ``cache-not-writable``.
    """
    with _lock_file(cache_folder() / f"{what}.lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another process that fetches it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(file: Path) -> TextIO:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return open(file, "w", encoding="utf-8")
    except OSError as error:
        raise BrokerError(
            "cache-not-writable",
            f"the folder for downloads, {str(file.parent)!r}, cannot be written to:"
            f" {error.strerror}",
            fix="set XDG_CACHE_HOME to a folder of yours, or bootstrap.servers to a broker"
            " that is running",
        ) from None
