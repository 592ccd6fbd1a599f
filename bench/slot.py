"""Measure the CPU time per record of one slot, without Spark and Kafka.

The measurements differ by style, and by record at a time or columns.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.data import USERS
from bench.one_slot import OneSlot

#: The style of the workload, and the value of ``penstock.vectorize``.
WAYS = (
    ("lambda", "off"), ("expressions", "off"), ("expressions", "on"), ("sql", "off"), ("sql", "on"),
)  # fmt: skip
_WARM_UP = 2_000


@dataclass(frozen=True, slots=True)
class SlotFigure:
    """The fastest of some runs, because other work on the machine can only make a run slower."""

    workload: str
    style: str
    vectorize: str
    records: int
    cpu_us: float
    keys: int = USERS

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure_slot(
    workload: str,
    records: int,
    batches: int,
    style: str,
    vectorize: str,
    repeat: int,
    keys: int = USERS,
) -> SlotFigure:
    """Run a workload through the worker's real code; imports and first calls are not measured."""
    _cpu_us(workload, _WARM_UP, 1, style, vectorize)
    best = min(_cpu_us(workload, records, batches, style, vectorize, keys) for _ in range(repeat))
    return SlotFigure(workload, style, vectorize, records, best, keys)


def _cpu_us(
    workload: str, records: int, batches: int, style: str, vectorize: str, keys: int = USERS
) -> float:
    slot = OneSlot(workload, records, style=style, vectorize=vectorize, keys=keys)
    try:
        _, cpu_seconds = slot.run(batches)
        return cpu_seconds / slot.records * 1e6
    finally:
        slot.close()
