"""The jars of Kafka's system tests in the user's cache: a list with checksums, and the broker's.

The test jars hold the generators and verifiers. What they depend on is in the broker's files, which
every test with Kafka needs anyway; only Kafka Streams itself and the tools come on top.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from penstock.kafka.distribution import Distribution
from penstock.kafka.download.jar_download import Jar, download_jars
from penstock.kafka.download.maven import CENTRAL_URL, Repository, maven_mirror
from penstock.kafka.machine import cache_folder

LATEST = "4.3.1"
#: The last version whose test jar has ``StreamsEosTest``.
WITH_EOS = "4.2.1"
_LIST = Path(__file__).with_name("jars.txt")


class ClassifiedJar(Jar):
    """A jar whose file name ends in a classifier, as in ``kafka-streams-4.3.1-test.jar``.

    The version of such an entry has the form ``4.3.1:test``.
    """

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version.replace(':', '-')}.jar"

    @property
    def path(self) -> str:
        """Return where a Maven repository has it."""
        folder = self.version.partition(":")[0]
        return "/".join([*self.group.split("."), self.name, folder, self.file])


class JarSet(NamedTuple):
    """The jars of one version of Kafka's tests."""

    version: str
    jars: tuple[ClassifiedJar, ...]


def listed(version: str) -> JarSet:
    """Return what has to be downloaded for a version of the tests."""
    found = []
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        place, sha256, size = line.split()
        group, name, rest = place.split(":", 2)
        if rest.partition(":")[0] == version:
            found.append(ClassifiedJar(group, name, rest, sha256, int(size)))
    return JarSet(version, tuple(found))


def class_path(version: str, broker: Distribution) -> str:
    """Return the class path of a version of the tests; download its jars if they are missing.

    The listed jars come first, so that those of an older version win over the broker's.
    """
    folder = _installed(listed(version))
    own = [str(folder / jar.file) for jar in listed(version).jars]
    return os.pathsep.join([*own, broker.class_path])


def _installed(wanted: JarSet) -> Path:
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"kafka-verifiers-{wanted.version}"
    with open(cache / "kafka-verifiers.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            repository = maven_mirror(Path.home()) or Repository(CENTRAL_URL)
            with tempfile.TemporaryDirectory(prefix="kafka-verifiers-", dir=cache) as work:
                folder = Path(work) / "jars"
                download_jars(wanted.jars, repository, folder, lambda _: None)
                shutil.move(folder, target)
    return target
