"""Measure the resources that a running application uses, from /proc and its state folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the application; sizes in MB."""

    driver_mb: float
    jvm_mb: float
    workers_mb: float
    open_files: int
    processes: int
    threads: int
    state_mb: float
    lag: int

    @staticmethod
    def names() -> list[str]:
        return [field.name for field in fields(Sample)]


def sample(pid: int, state_dir: Path, lag: int) -> Sample:
    """Looks at a driver, its JVM and all Python workers below it."""
    sizes = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
    open_files = threads = processes = 0
    for each in family(pid):
        try:
            status = Path(f"/proc/{each}/status").read_text(encoding="utf-8")
            files = len(os.listdir(f"/proc/{each}/fd"))
        except OSError:
            continue
        facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        kind = "driver" if each == pid else "jvm" if "java" in facts["Name"] else "workers"
        sizes[kind] += int(facts.get("VmRSS", "0 kB").split()[0]) / 1024
        open_files += files
        threads += int(facts["Threads"])
        processes += 1
    return Sample(
        sizes["driver"], sizes["jvm"], sizes["workers"], open_files, processes, threads,
        folder_mb(state_dir), lag,
    )  # fmt: skip


def family(pid: int) -> Iterator[int]:
    """The process and all that descend from it."""
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        yield each
        try:
            for thread in os.listdir(f"/proc/{each}/task"):
                text = Path(f"/proc/{each}/task/{thread}/children").read_text(encoding="utf-8")
                waiting.extend(map(int, text.split()))
        except OSError:
            continue


def folder_mb(folder: Path) -> float:
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(top, name)).st_size
            except OSError:
                continue
    return total / 1024 / 1024
