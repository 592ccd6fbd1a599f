"""Connector plugins: one folder of jars for each, downloaded from Maven Central."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.connect.errors import ConnectError
from penstock.kafka.download.ivy import fetch_jars
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.java import find_java

#: Where a project keeps its connectors, below the project's folder.
PROJECT_PLUGINS = Path(".penstock") / "connect" / "plugins"

_PART = re.compile(r"[A-Za-z0-9._-]+")
#: Libraries that every worker provides to its connectors. A second copy in a connector's folder
#: defines the same classes again; Jackson, for one, then finds modules that do not fit it.
_PROVIDED = frozenset({
    "connect-api", "connect-json", "connect-runtime", "connect-transforms", "kafka-clients",
    "jackson-annotations", "jackson-core", "jackson-databind", "jackson-datatype-jdk8",
    "slf4j-api", "lz4-java", "snappy-java", "zstd-jni",
})  # fmt: skip
_JAR = re.compile(r"(.+?)-\d.*\.jar")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The name of a module in Maven's repositories."""

    group: str
    artifact: str
    version: str

    @staticmethod
    def of(text: str) -> Coordinates:
        """Read ``GROUP:ARTIFACT:VERSION``.

        >>> Coordinates.of("org.postgresql:postgresql:42.7.4").artifact
        'postgresql'

        Raises:
            ConnectError: ``bad-coordinates``.
        """
        parts = text.split(":")
        if len(parts) != 3 or not all(_PART.fullmatch(part) for part in parts):
            raise ConnectError(
                "bad-coordinates",
                f"{text!r} does not name a module",
                fix="write GROUP:ARTIFACT:VERSION, as in"
                " io.debezium:debezium-connector-postgres:3.5.0.Final",
            )
        return Coordinates(*parts)

    @property
    def folder(self) -> str:
        return f"{self.artifact}-{self.version}"


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """One folder of jars."""

    folder: Path
    jars: int


def project_plugins(start: Path | None = None) -> Path:
    """Return the plugin folder of the project: in this folder or the nearest one above.

    If no folder has one yet, it is the one below this folder.
    """
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / PROJECT_PLUGINS).is_dir():
            return folder / PROJECT_PLUGINS
    return here / PROJECT_PLUGINS


def installed_plugins(folder: Path) -> list[InstalledPlugin]:
    """Return the plugins of a folder, by name."""
    if not folder.is_dir():
        return []
    found = sorted(each for each in folder.iterdir() if each.is_dir() and each.name[0] != ".")
    return [InstalledPlugin(each, len(list(each.rglob("*.jar")))) for each in found]


def install(modules: Sequence[Coordinates], folder: Path, report: Progress) -> InstalledPlugin:
    """Download modules with all they depend on as one plugin, named after the first of them.

    An older plugin of that name is replaced in one step. Libraries that every worker provides are
    left out.

    Raises:
        BrokerError: ``kafka-download-failed``.
        JavaError: no Java was found.
    """
    java = find_java()
    folder.mkdir(parents=True, exist_ok=True)
    # A name with a dot: a worker that starts meanwhile does not load it.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        jars = Path(scratch) / "jars"
        wanted = [(each.group, each.artifact, each.version) for each in modules]
        fetch_jars(java, wanted, jars, report, what=f"the connector {modules[0].folder}")
        for jar in jars.glob("*.jar"):
            named = _JAR.fullmatch(jar.name)
            if named is not None and named[1] in _PROVIDED:
                jar.unlink()
        target = folder / modules[0].folder
        if target.exists():
            shutil.rmtree(target)
        jars.rename(target)
    return InstalledPlugin(target, len(list(target.glob("*.jar"))))
