"""Start the application again whenever its process has ended, as an operator's supervisor does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.hosts import Host, end

#: As a service manager does: a process that ends at once is not started a hundred times a second.
_RESTART_DELAY_S = 1.0
_ERROR_LINE = re.compile(r"(?i)(error|exception|fatal|failed)")


@dataclass(frozen=True)
class End:
    """One end of the application's process."""

    time_s: float
    code: int
    was_killed: bool
    last_error: str


@dataclass
class Application:
    """The application's process. ``ends`` lists how each of its lives has ended.

    An end counts as the application's own fault unless ``expect_end`` announced it, which the
    fault injector does before it kills the driver or the driver's JVM.
    """

    host: Host
    settings: dict[str, Any]
    report: Callable[[str], None]
    #: What the process finds in its environment besides what every process of the run does.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: The program: a module that takes the settings as its argument.
    module: str = "tests.cluster.app"
    #: What the program takes besides the settings.
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    ends: list[End] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end_is_expected = False
        self._start_at = 0.0
        #: When the process was started last, by the monotonic clock.
        self.started_s = 0.0
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The driver's process id, or None while it does not run."""
        return self.process.pid if self.is_running and self.process is not None else None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def own_ends(self) -> list[End]:
        """The ends that were not caused by killing the driver or its JVM."""
        return [each for each in self.ends if not each.was_killed]

    def start(self) -> None:
        """Start a new life of the application."""
        log = self.host.log("app")
        self._log_start = log.stat().st_size if log.exists() else 0
        self._end_is_expected = False
        self.started_s = time.monotonic()
        command = [sys.executable, "-m", self.module, json.dumps(self.settings)]
        command += self.arguments
        self.process = self.host.start("app", command, self.variables)

    def expect_end(self) -> None:
        """Note that this life is about to be ended from outside."""
        self._end_is_expected = True

    def supervise(self) -> None:
        """Note an end of the process, and start it again a moment later."""
        if self.process is not None and self.process.poll() is not None:
            self._note_end(self.process.returncode)
            self.process = None
            self._start_at = time.monotonic() + _RESTART_DELAY_S
        if self.process is None and time.monotonic() >= self._start_at:
            self.start()

    def close(self, timeout_s: float = 90.0) -> str | None:
        """End the application gracefully; return what was wrong with that, or None."""
        if self.process is None or self.process.poll() is not None:
            return "the application did not run any more"
        os.kill(self.process.pid, signal.SIGTERM)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"the application did not close within {timeout_s:.0f} s of SIGTERM"
        last = "" if code == 0 else f": {self.last_error()}"
        return None if code == 0 else f"the application closed with exit code {code}{last}"

    def kill(self) -> None:
        """End the process at once."""
        end(self.process)

    def last_error(self) -> str:
        """Return the last line of this life's log that speaks of an error."""
        with self.host.log("app").open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        found = [line.strip() for line in lines if _ERROR_LINE.search(line)]
        return (found or [line for line in lines if line.strip()] or ["(no output)"])[-1][:300]

    def _note_end(self, code: int) -> None:
        ended = End(time.monotonic(), code, self._end_is_expected, self.last_error())
        self.ends.append(ended)
        why = "killed" if ended.was_killed else "ENDED BY ITSELF"
        self.report(f"application {why}, exit code {code}: {ended.last_error}")
