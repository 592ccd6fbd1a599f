"""Profile a workload in one slot: the time by part of the data path, and by function."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.data import USERS
from bench.one_slot import OneSlot

Function = tuple[str, int, str]

#: A piece of the file's path, pieces of function names, and the part that the time belongs to.
#: The first rule that matches decides; a rule without names matches all functions of the file.
_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("worker/reader.py", (), "read"),
    ("worker/consumer_buffer.py", (), "read"),
    ("bench/one_slot.py", ("read", "_cut"), "read"),
    ("exchange/bundles.py", (), "repartition"),
    ("worker/repartition_topic.py", (), "repartition"),
    ("worker/task_output.py", ("write_repartitioned", "_write_records"), "repartition"),
    ("pyarrow/", (), "repartition"),
    ("worker/task_output.py", ("write_changelogs", "log", "_noting", "delivered"), "changelog"),
    ("worker/changelog_buffer.py", (), "changelog"),
    ("worker/task_state.py", ("append",), "changelog"),
    ("state/layers/changelogged.py", (), "changelog"),
    ("worker/writer.py", ("commit", "flush", "begin"), "commit"),
    ("worker/markers.py", (), "commit"),
    ("worker/task_state.py", ("prepare", "apply"), "state"),
    ("penstock/state/", (), "state"),
    ("worker/task_output.py", ("send", "partitions"), "output"),
    ("kernel/operators/topics/sink.py", (), "output"),
    ("model/partitioning", (), "output"),
    ("kernel/operators/topics/source.py", (), "decode"),
    ("serde/", ("encode", "serialize", "dumps"), "encode"),
    ("serde/", (), "decode"),
    ("bench/workloads.py", (), "process"),
    ("penstock/kernel/", (), "process"),
    ("penstock/processor/", (), "process"),
    ("penstock/model/", (), "process"),
    ("worker/task_state.py", ("run",), "process"),
)
PARTS = (
    "read", "decode", "process", "state", "changelog", "encode", "output", "repartition",
    "commit", "rest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. ``seconds`` and ``cpu_seconds`` are from a run without the profiler.

    The profiler slows calls down, so its own run would be too slow.
    """

    workload: str
    records: int
    seconds: float
    cpu_seconds: float
    profiled_seconds: float
    parts: dict[str, float]
    functions: list[tuple[str, str, int, float]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "records": self.records,
            "records_per_second": round(self.records / self.seconds),
            "records_per_cpu_second": round(self.records / self.cpu_seconds),
            "parts_us_per_record": {
                part: round(seconds / self.records * 1e6, 3) for part, seconds in self.parts.items()
            },
            "functions": [
                {"function": name, "part": part, "calls": calls, "seconds": round(seconds, 4)}
                for name, part, calls, seconds in self.functions
            ],
        }


def profile(
    workload: str, records: int, batches: int, bootstrap: str | None, top: int, keys: int = USERS
) -> Profile:
    """Run the workload twice, each time without state: once for the time, once for its parts."""
    plain = OneSlot(workload, records, bootstrap, keys=keys)
    seconds, cpu_seconds = plain.run(batches)
    plain.close()
    slot = OneSlot(workload, records, bootstrap, keys=keys)
    profiler = cProfile.Profile()
    profiled_seconds, _ = profiler.runcall(slot.run, batches)
    slot.close()
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    shares = _Shares(stats)
    parts: Counter[str] = Counter()
    functions = []
    for function, (_, calls, own_s, _, _) in stats.items():
        share = shares.of(function)
        for part, fraction in share.items():
            parts[part] += own_s * fraction
        functions.append((_name(function), max(share, key=share.__getitem__), calls, own_s))
    functions.sort(key=lambda each: -each[3])
    return Profile(
        workload, slot.records, seconds, cpu_seconds, profiled_seconds,
        {part: parts[part] for part in PARTS}, functions[:top],
    )  # fmt: skip


class _Shares:
    """Assign a function's own time to parts; the time of C functions goes to their callers."""

    def __init__(self, stats: dict[Function, Any]) -> None:
        self._stats = stats
        self._known: dict[Function, dict[str, float]] = {}

    def of(self, function: Function) -> dict[str, float]:
        if function not in self._known:
            # In a cycle of callers, the time goes to "rest".
            self._known[function] = {"rest": 1.0}
            part = _part(function)
            self._known[function] = {part: 1.0} if part else self._of_callers(function)
        return self._known[function]

    def _of_callers(self, function: Function) -> dict[str, float]:
        callers = self._stats[function][4]
        total = sum(times[2] for times in callers.values())
        found: dict[str, float] = {}
        for caller, times in callers.items():
            weight = times[2] / total if total else 1 / len(callers)
            for part, fraction in self.of(caller).items():
                found[part] = found.get(part, 0.0) + weight * fraction
        return found or {"rest": 1.0}


def _part(function: Function) -> str | None:
    file, _, name = function
    if file == "~":
        return None
    if name == "send" and _is_writer(function):
        return None
    for path, names, part in _RULES:
        if path in file and (not names or any(each in name for each in names)):
            return part
    return None


def _is_writer(function: Function) -> bool:
    """Return whether this is the writer's ``send``, which output and changelogs both use."""
    return "bench/one_slot.py" in function[0] or "worker/writer.py" in function[0]


def _name(function: Function) -> str:
    file, line, name = function
    if file == "~":
        return name.strip("<>")
    path = Path(file)
    return f"{path.parent.name}/{path.name}:{line} {name}"
