"""Start applications as processes, and find every process that belongs to one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from penstock import KafkaStreams
from penstock.runtime.spark.exchange.stage_request import Endpoint

_ROOT = Path(__file__).resolve().parents[3]
#: In the environment of the driver and so of all that it starts, stream threads included.
_TOKEN = "PENSTOCK_TEST_INSTANCE"


def wait_for(is_true: Callable[[], Any], seconds: float, what: str = "it") -> float:
    """Wait until something is true and return how long that took."""
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.05)
    return time.monotonic() - began


@dataclass
class Instance:
    """One process with ``tests.integration.spark.application``, in a folder of its own."""

    folder: Path
    config: dict[str, Any]
    source: str
    sink: str
    pause_s: float = 0.0
    is_slow_to_open: bool = False
    token: str = field(default_factory=lambda: uuid4().hex)

    def start(self) -> Instance:
        self.folder.mkdir(parents=True, exist_ok=True)
        given = {
            "config": {"state.dir": str(self.folder / "state"), **self.config},
            "source": self.source, "sink": self.sink, "pause_s": self.pause_s,
            "is_slow_to_open": self.is_slow_to_open, "told": str(self.folder / "told"),
        }  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}", _TOKEN: self.token}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.spark.application", json.dumps(given)],
                stdout=log, stderr=log, cwd=_ROOT, env=environment, start_new_session=True,
            )  # fmt: skip
        return self

    # What it says

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def told(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / "told").read_text())
        except FileNotFoundError:
            return {}
        return found

    @property
    def state(self) -> str | None:
        return self.told().get("state")

    @property
    def is_running(self) -> bool:
        """Whether it leads and has committed a batch."""
        told = self.told()
        return told.get("state") == "RUNNING" and told.get("batches", 0) > 0

    def wait_until_running(self, seconds: float = 240) -> float:
        return wait_for(lambda: self.is_running or self._ended(), seconds, f"RUNNING\n{self.tail}")

    def _ended(self) -> bool:
        assert self.process.poll() is None, f"it ended with {self.process.poll()}\n{self.tail}"
        return False

    @property
    def tail(self) -> str:
        return "\n".join(self.log.splitlines()[-40:])

    # Its processes

    def processes(self) -> dict[int, str]:
        """Every living process of this instance, with its command line."""
        return {pid: command for pid, command in _living() if self.token in _environment(pid)}

    @property
    def jvm(self) -> int:
        return next(pid for pid, command in self.processes().items() if "SparkSubmit" in command)

    def threads(self) -> dict[int, int]:
        """By number: the process of each stream thread."""
        names = {pid: _name(pid) for pid in self.processes()}
        prefix = "stream-thread-"
        return {int(n.removeprefix(prefix)): p for p, n in names.items() if n.startswith(prefix)}

    def send(self, number: signal.Signals, pid: int | None = None) -> None:
        os.kill(self.process.pid if pid is None else pid, number)

    def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 60) -> int:
        """Send a signal and return the exit code."""
        self.send(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended within {seconds} s\n{self.tail}") from None

    def wait_until_gone(self, seconds: float) -> float:
        """Wait until no process of this instance is left."""
        try:
            return wait_for(lambda: not self.processes(), seconds)
        except AssertionError:
            raise AssertionError(f"left behind: {self.processes()}\n{self.tail}") from None

    def sweep(self) -> None:
        """Kill whatever is left, at the end of a test."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(30)


def thread_process(streams: KafkaStreams, slot: int) -> int:
    """Find the process of the stream thread that has a slot of an application of this process."""
    runner = streams._runner()
    assert runner is not None
    return process_of(runner.placement.endpoints[slot])


def process_of(thread: Endpoint) -> int:
    """Return the process of a stream thread on this machine: it is part of the thread's name."""
    return int(thread.server.rsplit("-", 2)[1])


def words(count: int, different: int = 10) -> list[tuple[str, str]]:
    """Records to produce: keys are spread, values are counted."""
    return [(f"k{number}", f"w{number % different}") for number in range(count)]


def exact(records: Iterable[tuple[bytes, bytes]]) -> dict[str, int]:
    """Check that every key was counted 1, 2, 3 ... once each, and return the last counts."""
    counts: dict[str, int] = {}
    for key, value in records:
        word, number = key.decode(), int.from_bytes(value, "big")
        assert number == counts.get(word, 0) + 1, f"{word}: {number} after {counts.get(word)}"
        counts[word] = number
    return counts


def _living() -> Iterable[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                yield int(entry.name), (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
