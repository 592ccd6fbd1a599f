"""Find the processes of a measurement, and what they use: by a variable that all inherit."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Used:
    """What the processes of one kind have used since they started."""

    processes: int
    cpu_s: float
    rss_mb: float
    #: Memory that processes share counts once: each has its part of it.
    pss_mb: float


def processes_with(variable: str) -> list[int]:
    """Return the processes whose environment has ``NAME=value``."""
    wanted, found = variable.encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def kind_of(pid: int, main: int) -> str:
    """Return which part of the engine a process is."""
    if pid == main:
        return "driver"
    name = Path(f"/proc/{pid}/comm").read_text().strip()
    if name.startswith("stream-thread-"):
        return "threads"
    return "jvm" if name == "java" else "workers"


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used since it started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def used_by(variable: str, main: int) -> dict[str, Used]:
    """Return what the processes with a variable use, by kind."""
    count, cpu = Counter[str](), dict[str, float]()
    rss, pss = Counter[str](), Counter[str]()
    for pid in processes_with(variable):
        with contextlib.suppress(OSError):
            kind = kind_of(pid, main)
            spent = cpu_seconds(pid)
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            count[kind] += 1
            cpu[kind] = cpu.get(kind, 0.0) + spent
            rss[kind] += pages * _PAGE
            pss[kind] += _pss(pid)
    return {kind: Used(count[kind], cpu[kind], rss[kind] / 1e6, pss[kind] / 1e6) for kind in count}


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
