"""Compare Penstock with the peers: interleaved rounds, medians, ratios to Java Kafka Streams."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.peers import Peers

BASE = "ks-eos"
#: How Penstock's program is written: with expressions, with plain functions, or in SQL.
STYLES = ("expressions", "lambda", "sql")
#: How many cores other processes may use before a run counts as disturbed, as in the peers' bench.
_QUIET = 0.3

#: Called after every run with the engine, the workload, and the result or None.
Report = Callable[[str, str, dict[str, Any] | None], None]


@dataclass(frozen=True, slots=True)
class Cell:
    """Medians of one engine on one workload; ``ratio`` compares with Java in the same rounds."""

    engine: str
    workload: str
    runs: int
    quiet_runs: int
    per_second: float
    ratio: float | None
    cpu_us: float
    rss_mb: float
    startup_s: float
    checks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    peers: Peers,
    contenders: Sequence[tuple[str, str]],
    workloads: Sequence[str],
    records: int,
    rounds: int,
    report: Report,
) -> list[Cell]:
    """Run every engine on every workload, round by round, so that noise affects all alike.

    Args:
        contenders: Each engine and its style. Only Penstock has more than one style.
    """
    rows: list[dict[str, Any]] = []
    with peers.broker() as variables:
        for _ in range(rounds):
            for workload in workloads:
                for engine, style in contenders:
                    # Quix would need an hour for what the others do in seconds.
                    count = records // 10 if engine.startswith("quix") else records
                    row = peers.run(engine, workload, count, variables, style)
                    name = f"{engine} {style}".strip()
                    report(name, workload, row)
                    if row is not None:
                        rows.append({**row, "engine": name})
    return cells(rows)


def cells(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return medians over the runs with correct output; only quiet runs count if there are any."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["workload"], row["engine"]), []).append(row)
    return [
        _cell(engine, workload, runs, found.get((workload, BASE), []))
        for (workload, engine), runs in found.items()
    ]


def _cell(
    engine: str, workload: str, runs: list[dict[str, Any]], base: list[dict[str, Any]]
) -> Cell:
    counted, java = _counted(runs), _counted(base)
    rate = _median(counted, "rate")
    return Cell(
        engine=engine,
        workload=workload,
        runs=len(runs),
        quiet_runs=sum(_is_quiet(run) for run in runs),
        per_second=rate,
        ratio=rate / _median(java, "rate") if java and rate else None,
        cpu_us=statistics.median(
            (run["engine_cpu_s"] + run["broker_cpu_s"]) / run["records"] * 1e6 for run in runs
        ),
        rss_mb=max(run["rss_mb"] for run in runs),
        startup_s=_median(runs, "startup"),
        checks=tuple(dict.fromkeys(run.get("check") or "-" for run in runs)),
    )


def _counted(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    valid = [run for run in runs if run["rate"]]
    return [run for run in valid if _is_quiet(run)] or valid


def _is_quiet(run: dict[str, Any]) -> bool:
    return bool(run.get("foreign_cores", 9) <= _QUIET)


def _median(runs: list[dict[str, Any]], name: str) -> float:
    return statistics.median(run[name] for run in runs) if runs else 0.0
