"""Hosts: where a process of the cluster runs, with folders and an address of its own.

On Linux as root each host has a private /tmp and /dev/shm, so that processes of two hosts share
no files, as on two machines. Elsewhere a host only has folders of its own (``TMPDIR``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from penstock.kafka.java import java_home_for_spark
from tests.cluster import launch

ROOT = Path(__file__).resolve().parents[2]
#: The environment variable by which every process of one run is known.
MARKER = "PENSTOCK_CLUSTER_RUN"


#: Every process that a host has started and nobody has waited for yet.
STARTED: list[subprocess.Popen[bytes]] = []


@dataclass
class Nest:
    """Starts the processes of one run. All of them carry the run's mark in their environment.

    Start processes from the main thread only: a child dies with the thread that started it.
    """

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def host(self, name: str, address: str = "127.0.0.1", *, keeps_to_itself: bool = True) -> Host:
        """Make the folders of a host, which has a /tmp of its own if that is possible."""
        is_isolated = keeps_to_itself and can_isolate()
        host = Host(self, self.folder / name, address, is_isolated)
        for folder, _ in launch.PRIVATE:
            (host.folder / folder).mkdir(parents=True, exist_ok=True)
        return host

    def environment(self) -> dict[str, str]:
        """Return what every process of the run finds in its environment."""
        return {
            **os.environ,
            MARKER: self.mark,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "PYSPARK_PYTHON": sys.executable,
            "JAVA_HOME": str(java_home_for_spark()),
        }


@dataclass(frozen=True)
class Host:
    """One machine of the cluster. ``folder`` is what the test sees, ``tmp`` what the host sees."""

    nest: Nest
    folder: Path
    address: str
    is_isolated: bool

    @property
    def tmp(self) -> str:
        """The temporary folder by the name that processes of this host use."""
        return "/tmp" if self.is_isolated else str(self.folder / "tmp")

    def start(
        self, name: str, command: Sequence[str], variables: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a process on this host; its output is appended to ``<name>.log``."""
        isolated = str(self.folder) if self.is_isolated else ""
        launcher = [sys.executable, "-I", "-S", str(Path(launch.__file__))]
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                [*launcher, str(os.getpid()), isolated, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={
                    **self.nest.environment(),
                    "TMPDIR": self.tmp,
                    "SPARK_LOCAL_IP": self.address,
                    "SPARK_LOCAL_DIRS": f"{self.tmp}/spark-local",
                    **variables,
                },
                # Ctrl-C in the terminal is for the test, which ends its processes itself.
                start_new_session=True,
            )
        STARTED.append(process)
        return process

    def log(self, name: str) -> Path:
        """Name the file that holds the output of one of this host's processes."""
        return self.folder / f"{name}.log"


@cache
def can_isolate() -> bool:
    """Whether a process may have a /tmp of its own and still find this project there."""
    here = (ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
    if sys.platform != "linux" or os.geteuid() != 0 or any(_is_temporary(each) for each in here):
        return False
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return done.returncode == 0


def reap() -> None:
    """Wait for everything that was started and has been ended by its mark, not one by one."""
    while STARTED:
        end(STARTED.pop())


def end(process: subprocess.Popen[bytes] | None) -> None:
    """Kill a process that the test has started, if it still runs, and wait for its end."""
    if process is None:
        return
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_temporary(path: Path) -> bool:
    return path.is_relative_to("/tmp") or path.is_relative_to("/dev/shm")
