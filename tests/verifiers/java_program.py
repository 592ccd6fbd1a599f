"""One program of Kafka's own tests or tools as a process; its output is what judges."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.hosts import end

_HEAP = "-Xmx384m"


@dataclass
class JavaProgram:
    """A Java process and the file that has all its output."""

    name: str
    process: subprocess.Popen[bytes]
    file: Path

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code, or None while it runs."""
        return self.process.poll()

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8", errors="replace")

    def has(self, pattern: str) -> bool:
        """Whether a line of the output fits a regular expression."""
        return re.search(pattern, self.text) is not None

    def ask_to_end(self) -> None:
        """Send SIGTERM, for which Java's shutdown hooks run."""
        if self.is_running:
            os.kill(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        end(self.process)

    def tail(self, lines: int = 8) -> str:
        return "\n".join(f"    {line[:200]}" for line in self.text.splitlines()[-lines:])


def command(java: Path, class_path: str, main_class: str, *arguments: str) -> list[str]:
    """Return the command line of a Java program that logs to standard error."""
    return [
        str(java), _HEAP, "-XX:TieredStopAtLevel=1",
        # Kafka's script says which level each of its loggers has; without it, this is the same.
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.streams.tests=info",
        "-cp", class_path, main_class, *arguments,
    ]  # fmt: skip


def write_properties(file: Path, values: Mapping[str, object]) -> Path:
    """Write a properties file, which most of Kafka's programs take in place of options."""
    lines = [f"{name}={value}\n" for name, value in values.items()]
    file.write_text("".join(lines), encoding="utf-8")
    return file
