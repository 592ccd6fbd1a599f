"""An archive of the classes that Spark loads, with which its JVM starts in half the CPU time.

The JVM writes it when it ends, and checks it when it starts: an archive that does not fit the Java
or the jars is not used. Recording makes one start slower, which pays only if more starts follow. So
the first start only leaves a note, and one of the next ones records the archive. All of it lies in
the cache folder, and may be deleted at any time.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyspark

from penstock.kafka.java import Java
from penstock.kafka.machine import cache_folder

log = logging.getLogger(__name__)

#: How often recording is tried. A program that is always killed never writes its archive.
_ATTEMPTS = 3
_UNUSED_S = 30 * 24 * 3600.0
#: Switches off the JVM's messages about archives that do not fit.
_SILENT = "-Xlog:cds*=off"


def archive_options(java: Java) -> list[str]:
    """Return options for the JVM of Spark's driver; none if the cache folder cannot be used."""
    try:
        return _archive_of(java).options()
    except (OSError, ValueError) as error:
        log.debug("no archive of Spark's classes: %s", error)
        return []


def expect_more_starts(java: Java) -> None:
    """Let the next start record an archive, even if it is the first one.

    A demo calls this: a user who has seen it starts other programs next. The JVM writes the archive
    after the program has ended, so the demo itself takes no longer.
    """
    with suppress(OSError):
        _archive_of(java).expect_more_starts()


def _archive_of(java: Java) -> ClassArchive:
    jars = Path(pyspark.__file__).parent / "jars"
    facts = f"{java.home}|{java.version}|{jars}|{jars.stat().st_mtime_ns}"
    digest = sha256(facts.encode()).hexdigest()[:12]
    name = f"spark-{pyspark.__version__}-java-{java.version}-{digest}"
    return ClassArchive(cache_folder() / "classes", name)


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one Java and one Spark, by a name that changes with either."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        return self.folder / f"{self.name}.jsa"

    @property
    def _note(self) -> Path:
        """The file with the number of starts that tried to record; the first start creates it."""
        return self.folder / f"{self.name}.attempts"

    def options(self) -> list[str]:
        """Return the JVM options that use the archive or record one, or no options."""
        if '"' in str(self.folder) or "\\" in str(self.folder):
            return []
        self.folder.mkdir(parents=True, exist_ok=True)
        self._adopt()
        if self.file.exists():
            # The time of the file says when it was last used.
            os.utime(self.file)
            return [f'"-XX:SharedArchiveFile={self.file}"', _SILENT]
        if not self._note.exists():
            self._note.write_text("0", encoding="ascii")
            return []
        attempts = int(self._note.read_text(encoding="ascii") or 0)
        if attempts >= _ATTEMPTS:
            return []
        self._note.write_text(str(attempts + 1), encoding="ascii")
        fresh = self.folder / f"{self.name}.{os.getpid()}.new"
        fresh.unlink(missing_ok=True)
        return [f'"-XX:ArchiveClassesAtExit={fresh}"', _SILENT]

    def expect_more_starts(self) -> None:
        """Write the note that a first start leaves, unless it exists."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._note.exists():
            self._note.write_text("0", encoding="ascii")

    def _adopt(self) -> None:
        """Move a finished archive to its place; the JVM wrote it after the program had ended."""
        for fresh in self.folder.glob(f"{self.name}.*.new"):
            if is_complete(fresh):
                fresh.replace(self.file)
                self._clear_out()

    def _clear_out(self) -> None:
        """Delete archives of Java and Spark versions that were not used for 30 days."""
        oldest = time.time() - _UNUSED_S
        for other in self.folder.glob("spark-*"):
            if other.stat().st_mtime < oldest:
                other.unlink(missing_ok=True)


def is_complete(file: Path) -> bool:
    """Whether a JVM has written all of an archive: it writes the first bytes last."""
    with file.open("rb") as opened:
        return any(opened.read(4))
