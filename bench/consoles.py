"""Measure what open consoles cost a running application: w2 with none, one and many."""

from __future__ import annotations

import contextlib
import http.client
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.alone import Alone, measure_alone
from bench.processes import cpu_seconds, kind_of, processes_with
from penstock.kafka.broker_folder import free_port

#: What a page asks for when it is opened, before it listens to the feed.
_AT_FIRST = ("/about", "/topology", "/topology/program", "/status/history")
_LOOK_S = 0.25
_MARK = "PENSTOCK_BENCH_MARK"


@dataclass(slots=True)
class Beside:
    """A run, the samples that consoles have got, and the processor time by kind of process."""

    run: Alone
    consoles: int
    samples: int
    cpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def python_us(self) -> float:
        """The processor time of driver, workers and threads, in microseconds per record."""
        python = sum(seconds for kind, seconds in self.cpu_s.items() if kind != "jvm")
        return python / self.run.records * 1e6

    @property
    def jvm_us(self) -> float:
        return self.cpu_s.get("jvm", 0.0) / self.run.records * 1e6


def measure_consoles(bootstrap: str, records: int, consoles: int) -> Beside:
    """Run w2 to the end of its input while consoles show the first page."""
    port, mark = free_port(), uuid.uuid4().hex
    environment = {"PENSTOCK_CONF_application.server": f"127.0.0.1:{port}", _MARK: mark}
    samples = Counter[int]()
    is_over = threading.Event()
    readers = [
        threading.Thread(target=_show, args=(port, number, samples, is_over))
        for number in range(consoles)
    ]
    for reader in readers:
        reader.start()
    try:
        with _measured(f"{_MARK}={mark}") as cpu_s:
            run = measure_alone(
                bootstrap, "w2", records, style="expressions", environment=environment
            )
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
    return Beside(run, consoles, samples.total(), cpu_s)


def _show(port: int, number: int, samples: Counter[int], is_over: threading.Event) -> None:
    """Ask what a page asks, and read its feed until the run is over."""
    while not is_over.is_set():
        with contextlib.suppress(OSError, http.client.HTTPException):
            for path in _AT_FIRST:
                _get(port, path).read()
            for line in _get(port, "/status/feed"):
                samples[number] += line.startswith(b"data")
        is_over.wait(0.2)


def _get(port: int, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        raise http.client.HTTPException(f"{path}: {answer.status}")
    return answer


@contextlib.contextmanager
def _measured(variable: str) -> Iterator[dict[str, float]]:
    """Yield the processor time by kind of process; it is complete after the body."""
    is_over, spent, kinds = threading.Event(), dict[int, float](), dict[int, str]()

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            for pid in processes_with(variable):
                with contextlib.suppress(OSError):
                    kinds[pid] = kind_of(pid, pid if _is_engine(pid) else 0)
                    spent[pid] = cpu_seconds(pid)

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    found = dict[str, float]()
    try:
        yield found
    finally:
        is_over.set()
        watch.join()
        for pid, seconds in spent.items():
            found[kinds[pid]] = found.get(kinds[pid], 0.0) + seconds


def _is_engine(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"bench.engine" in words
