"""Measure the Nexmark queries over Kafka: each engine in a process of its own, one at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.nexmark.events import events
from bench.nexmark.queries import FLINK_NAMES, TOPICS, side_input
from bench.nexmark.topics import PARTITIONS, fill
from bench.processes import used_by
from penstock.kafka.admin import Admin

ENGINES = ("ours", "flink")
#: Events are made with so many in a second of their time: no two have the same millisecond.
RATE = 1_000
_ROOT = Path(__file__).resolve().parents[2]
_VARIABLE = "PENSTOCK_BENCH_NEXMARK"
_LOOK_S = 0.5
_NOT_IN_FLINK = {
    "q6": "Flink cannot plan it: OVER takes no rows that change",
    "q12": "its windows of the clock do not close when the input ends",
    "q13": "it needs a source that looks rows up, which Kafka's is not",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """What one run of a query took; ``check`` compares its rows with DuckDB's."""

    engine: str
    query: str
    events: int
    seconds: float
    startup_s: float
    cpu_s: float
    rss_mb: float
    check: str

    @property
    def per_second(self) -> float:
        return self.events / self.seconds

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def missing(engine: str) -> str | None:
    """Return what an engine lacks to run here, or None if it can run."""
    if engine != "flink":
        return None
    python, jars = os.environ.get("FLINK_PYTHON"), os.environ.get("FLINK_JARS_DIR")
    if python is None or jars is None:
        return "FLINK_PYTHON and FLINK_JARS_DIR do not name a Python with apache-flink, and jars"
    found = subprocess.run([python, "-c", "import pyflink"], capture_output=True, check=False)
    return None if found.returncode == 0 else "FLINK_PYTHON has no apache-flink"


def measure(
    bootstrap: str,
    engines: Sequence[str],
    names: Sequence[str],
    count: int,
    rounds: int,
    report: Callable[[Figure | str], None],
    *,
    check: bool,
) -> list[Figure]:
    """Write the events once, then run every engine on every query, round by round."""
    fill(bootstrap, events(count, per_second=RATE), side_input(count))
    found: list[Figure] = []
    for _ in range(rounds):
        for name in names:
            for engine in engines:
                if engine == "flink" and (name not in FLINK_NAMES or name in _NOT_IN_FLINK):
                    report(f"flink {name}: {_NOT_IN_FLINK.get(name, 'Flink has no such query')}")
                    continue
                figure = _run(bootstrap, engine, name, count, check=check)
                report(figure)
                found += [figure] if isinstance(figure, Figure) else []
    return found


def _run(bootstrap: str, engine: str, name: str, count: int, *, check: bool) -> Figure | str:
    """Run one query and return what was measured, or why there is no figure."""
    tag = f"nexmark-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        python, script = sys.executable, ["-m", "bench.nexmark.engine"]
        if engine == "flink":
            python, script = os.environ["FLINK_PYTHON"], ["-m", "bench.nexmark.flink_engine"]
            # The topic of its result, which ours creates itself.
            Admin({"bootstrap.servers": bootstrap}).create_topic(
                f"{tag}-{name}", partitions=PARTITIONS
            )
        command = [python, *script, bootstrap, name, str(count), str(RATE), tag, folder]
        path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        variables = {**os.environ, _VARIABLE: tag, "CHECK": str(int(check)), "PYTHONPATH": path}
        began = time.time()
        process = subprocess.Popen(
            command, cwd=_ROOT, env=variables, stdout=subprocess.PIPE, text=True
        )
        usage = _Usage(tag, process.pid)
        marks = dict(_marks(process.stdout or ()))
        status = process.wait()
        usage.stop()
    _clean(bootstrap, tag)
    if status != 0 or not {"FIRST_CONSUMED", "LAST_COMMITTED"} <= marks.keys():
        return f"{engine} {name}: ended with status {status} and {', '.join(marks) or 'no marks'}"
    first, last = int(marks["FIRST_CONSUMED"]) / 1000, int(marks["LAST_COMMITTED"]) / 1000
    return Figure(
        engine, name, count, last - first, first - began, usage.cpu_s, usage.rss_mb,
        marks.get("CHECK", "not checked"),
    )  # fmt: skip


def _marks(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, _, value = line.strip().partition(" ")
        if name in ("STARTED", "FIRST_CONSUMED", "LAST_COMMITTED", "CHECK"):
            yield name, value


class _Usage:
    """Looks at what the processes of a run use, until it is stopped."""

    def __init__(self, tag: str, main: int) -> None:
        self.cpu_s = self.rss_mb = 0.0
        self._variable, self._main = f"{_VARIABLE}={tag}", main
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            used = used_by(self._variable, self._main).values()
            self.cpu_s = max(self.cpu_s, sum(each.cpu_s for each in used))
            self.rss_mb = max(self.rss_mb, sum(each.rss_mb for each in used))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def _clean(bootstrap: str, tag: str) -> None:
    admin = Admin({"bootstrap.servers": bootstrap})
    own = [topic for topic in admin.topics() if tag in topic and topic not in TOPICS.values()]
    admin.delete_topics(own, missing_ok=True)
