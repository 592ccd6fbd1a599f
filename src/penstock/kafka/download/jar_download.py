"""Download Kafka's jars from a list with their checksums, several at a time.

Ivy finds out what depends on what before it downloads anything: forty small requests, one after the
other, which take longer than the jars. The list is what it found. ``penstock.kafka.download.ivy``
is used where the user has settings for Ivy, or where this download fails.
"""

from __future__ import annotations

import hashlib
import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from penstock.kafka.download.maven import Repository

_AT_ONCE = 8
_TIMEOUT_S = 30.0
_PIECE = 256 * 1024
#: Receives short messages about the progress.
Progress = Callable[[str], None]


class Jar(NamedTuple):
    """One line of the list."""

    group: str
    name: str
    version: str
    sha256: str
    size: int

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Return where a Maven repository has it."""
        return "/".join([*self.group.split("."), self.name, self.version, self.file])


class DownloadError(Exception):
    """A jar could not be fetched, or is not the one that the list means."""


def listed_jars() -> list[Jar]:
    """Return the jars of the broker, those that it depends on included."""
    lines = files("penstock.kafka.download").joinpath("kafka_jars.txt").read_text(encoding="utf-8")
    found = []
    for line in lines.splitlines():
        place, sha256, size = line.split()
        group, name, version = place.split(":")
        found.append(Jar(group, name, version, sha256, int(size)))
    return found


def megabytes(jars: Sequence[Jar]) -> int:
    return round(sum(jar.size for jar in jars) / 1_000_000)


def download_jars(
    jars: Sequence[Jar], repository: Repository, folder: Path, progress: Progress
) -> None:
    """Download jars into a folder, which is created.

    Args:
        progress: is told after each piece how much has arrived.

    Raises:
        DownloadError: with the jar and the reason. What has arrived stays in the folder.
    """
    folder.mkdir()
    total, arrived, lock = megabytes(jars), 0, threading.Lock()
    is_over = threading.Event()

    def note(size: int) -> None:
        nonlocal arrived
        with lock:
            arrived += size
            progress(f"downloading: {arrived / 1_000_000:.0f} of {total} MB")

    def fetch(jar: Jar) -> None:
        if not is_over.is_set():
            _fetch(jar, repository, folder / jar.file, note)

    with ThreadPoolExecutor(_AT_ONCE, "penstock-download") as pool:
        # The largest ones first, so that no large one is left alone at the end.
        waiting = [pool.submit(fetch, jar) for jar in sorted(jars, key=lambda jar: -jar.size)]
        try:
            for each in waiting:
                each.result()
        finally:
            is_over.set()


def _fetch(jar: Jar, repository: Repository, file: Path, note: Callable[[int], None]) -> None:
    request = Request(f"{repository.url.rstrip('/')}/{jar.path}")
    if repository.user:
        login = b64encode(f"{repository.user}:{repository.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
    digest = hashlib.sha256()
    try:
        with urlopen(request, timeout=_TIMEOUT_S) as answer, open(file, "wb") as out:
            while piece := answer.read(_PIECE):
                digest.update(piece)
                out.write(piece)
                note(len(piece))
    except (OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise DownloadError(f"{jar.file}: {error}") from None
    if digest.hexdigest() != jar.sha256:
        raise DownloadError(f"{jar.file}: another file than the list says")
