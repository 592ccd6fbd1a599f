"""Limit each executor to a share of a core, so that a small machine can show how work scales.

Two executors of one core need more than two cores, because the broker, the driver and two JVMs
work too. If each executor has only a share of a core, the machine has room for all of them. Then
the shares limit the work, not the machine. This needs root and the CPU controller of Linux's
control groups (v1).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

_CONTROLLER = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 20_000
_EXECUTOR = "CoarseGrainedExecutorBackend"
_LOOK_S = 0.05


@contextlib.contextmanager
def limited_executors(root: int, share: float | None) -> Iterator[None]:
    """Put every executor that starts below the process ``root`` into a control group of its own."""
    if share is None:
        yield
        return
    closing = threading.Event()
    groups: dict[int, Path] = {}

    def watch() -> None:
        while not closing.wait(_LOOK_S):
            for pid in executors_below(root):
                if pid not in groups:
                    groups[pid] = _limited(pid, share)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        closing.set()
        thread.join()
        for group in groups.values():
            # Processes that have not ended yet are moved back, since a group that is in use
            # cannot be deleted.
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (_CONTROLLER / "cgroup.procs").write_text(pid)
            with contextlib.suppress(OSError):
                group.rmdir()


def executors_below(root: int) -> list[int]:
    """Return the JVMs of Spark's executors among the descendants of a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    below, found = {root}, []
    # A child usually has a larger id than its parent. Ids start over from time to time, so a
    # second pass finds the rest.
    for _ in range(2):
        for pid in sorted(parents):
            if parents[pid] in below:
                below.add(pid)
    for pid in below:
        with contextlib.suppress(OSError):
            if _EXECUTOR in (Path("/proc") / str(pid) / "cmdline").read_text():
                found.append(pid)
    return found


def _limited(pid: int, share: float) -> Path:
    group = _CONTROLLER / f"penstock-bench-{os.getpid()}-{pid}"
    group.mkdir(exist_ok=True)
    (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(int(_PERIOD_US * share)))
    # Python workers are children of the executor, so they start in the same group.
    (group / "cgroup.procs").write_text(str(pid))
    return group
