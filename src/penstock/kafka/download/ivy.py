"""Downloads jars with pyspark's Ivy and the repository settings of the user."""

from __future__ import annotations

import logging
import re
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from penstock.extras import install_command
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.download.maven import Repository, maven_mirror
from penstock.kafka.errors import BrokerError
from penstock.kafka.java import Java
from penstock.kafka.machine import environment, proxy_options

log = logging.getLogger(__name__)

_TIMEOUTS = [
    "-Dsun.net.client.defaultConnectTimeout=15000",
    "-Dsun.net.client.defaultReadTimeout=60000",
]
#: How often the progress of a download is told.
_REPORT_S = 0.5
#: Jars of one module that differ in their classifier are different files.
_NAME = "[artifact]-[revision](-[classifier]).[ext]"


def fetch_jars(
    java: Java,
    modules: list[tuple[str, str, str]],
    folder: Path,
    progress: Progress,
    megabytes: int | None = None,
    *,
    what: str = "the broker's files",
) -> None:
    """Download modules and their dependencies into ``folder``. Ivy verifies checksums.

    Args:
        modules: organisation, name and revision of each.
        folder: is created. Its parent is a temporary folder, which Ivy also uses.
        progress: is told twice a second how much has arrived.
        megabytes: how much there is to download; None if that is not known.
        what: is downloaded, for the error message.

    Raises:
        BrokerError: ``kafka-download-failed``, with the reason; the log has Ivy's last lines.
    """
    work = folder.parent
    description = work / "ivy.xml"
    description.write_text(_description(modules), encoding="utf-8")
    command = [
        str(java.executable), *_TIMEOUTS, *proxy_options(), "-jar", str(ivy_jar()),
        *_settings(work), "-ivy", str(description), "-cache", str(work / "ivy-cache"),
        "-types", "jar", "bundle", "-retrieve", f"{folder}/{_NAME}",
    ]  # fmt: skip
    with _measured(work / "ivy-cache", megabytes, progress) as found:
        last = _run(command, found)
    if last is not None:
        log.info("Ivy could not download %s; its last lines:\n%s", what, "\n".join(last))
        raise BrokerError(
            "kafka-download-failed",
            f"{what} could not be downloaded: {reason(last)}",
            fix="connect this machine to Maven Central or to a mirror of it"
            " (~/.ivy2/ivysettings.xml or ~/.m2/settings.xml) once,"
            " or set bootstrap.servers to a broker that is running",
        )


def ivy_jar() -> Path:
    """Find Ivy among pyspark's jars, without importing pyspark."""
    package = find_spec("pyspark")
    if package is not None and package.origin:
        found = sorted((Path(package.origin).parent / "jars").glob("ivy-*.jar"))
        if found:
            return found[-1]
    raise BrokerError(
        "ivy-missing",
        "a private broker needs the jars of pyspark to fetch Kafka, and they are not installed",
        fix=f"{install_command('spark')}, or set bootstrap.servers to a broker that is running",
    )


@contextmanager
def _measured(folder: Path, megabytes: int | None, progress: Progress) -> Iterator[Counter[str]]:
    """Report how far a download is, by the files in its folder, inside a ``with`` block.

    Yields:
        what Ivy has said so far: how many parts it has found.
    """
    seen: Counter[str] = Counter()
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(_REPORT_S):
            arrived = _size(folder) // 1_000_000
            if arrived == 0:
                progress(f"finding parts: {seen['found']}")
            else:
                of = "" if megabytes is None else f" of {megabytes}"
                known = arrived if megabytes is None else min(arrived, megabytes)
                progress(f"downloading: {known}{of} MB")

    thread = threading.Thread(target=report, name="penstock-download", daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def _size(folder: Path) -> int:
    """Return the size of the jars of a folder that Ivy is writing to."""
    size = 0
    # A jar that is only half there has another ending.
    for file in folder.rglob("*.jar*"):
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


def reason(lines: Sequence[str]) -> str:
    """Return in one line why a download failed, from what Ivy wrote about it."""
    for line in lines:
        refused = re.search(r"access error at url (\w+://[^/]+)\S* \((.*)\)", line)
        if refused is not None:
            return f"{refused[1]} cannot be reached: {refused[2].rpartition('Exception: ')[2]}"
    missing = [found[1] for line in lines if (found := re.search(r":: (\S+: not found)", line))]
    return ", ".join(missing) or (lines[-1].strip() if lines else "Ivy gave no reason")


def _run(command: list[str], seen: Counter[str]) -> list[str] | None:
    """Run Ivy. Return None, or the last lines of its output if it failed."""
    tail: deque[str] = deque(maxlen=15)
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    ) as ivy:  # fmt: skip
        assert ivy.stdout is not None
        for line in ivy.stdout:
            if line.strip(" .\n"):
                tail.append(line.rstrip())
            if re.match(r"\s*found \S+#\S+;", line):
                seen["found"] += 1
    return list(tail) if ivy.returncode else None


def _description(modules: list[tuple[str, str, str]]) -> str:
    lines = [
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->default"/>'
        for org, name, rev in modules
    ]
    return (
        '<ivy-module version="2.0"><info organisation="penstock" module="broker"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _settings(work: Path) -> list[str]:
    """Return the settings file: the user's for Ivy, or the user's Maven mirror, or Ivy's own."""
    own = own_settings()
    if own is not None:
        return ["-settings", str(own)]
    mirror = maven_mirror(Path.home())
    if mirror is None:
        return []
    file = work / "ivysettings.xml"
    file.touch(mode=0o600)
    file.write_text(_mirror_settings(mirror), encoding="utf-8")
    return ["-settings", str(file)]


def own_settings() -> Path | None:
    """Return the settings file that the user has written for Ivy, if there is one."""
    own = Path.home() / ".ivy2" / "ivysettings.xml"
    return own if own.is_file() else None


def _mirror_settings(mirror: Repository) -> str:
    """Write Maven's mirror of the central repository as settings of Ivy."""
    login = ""
    if mirror.user:
        host = re.sub(r"^\w+://([^/:]+).*$", r"\1", mirror.url)
        login = (
            f"<credentials host={quoteattr(host)} username={quoteattr(mirror.user)}"
            f" passwd={quoteattr(mirror.password)}/>"
        )
    return (
        f'<ivysettings><settings defaultResolver="mirror"/>{login}<resolvers>'
        f'<ibiblio name="mirror" m2compatible="true" root={quoteattr(mirror.url)}/>'
        "</resolvers></ivysettings>"
    )
