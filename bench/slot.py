"""CPU per record of one slot, without Spark and Kafka: by style, record at a time or in columns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.data import USERS
from bench.one_slot import OneSlot

#: Style of the workload and ``penstock.vectorize``.
WAYS = (
    ("lambda", "off"), ("expressions", "off"), ("expressions", "on"), ("sql", "off"), ("sql", "on"),
)  # fmt: skip
_WARM_UP = 2_000


@dataclass(frozen=True, slots=True)
class SlotFigure:
    """The best of some runs: on a machine with other work the least is the truest."""

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
    """Runs a workload through the worker's real code; imports and first calls are not counted."""
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
