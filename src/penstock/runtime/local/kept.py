"""State in memory that outlives the application that made it, as Kafka keeps it for Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.clocks import Clocks
from penstock.state.engine.memory import MemoryStore


class LastingStore(MemoryStore):
    """A map whose rows are still there when it is opened again."""

    def close(self) -> None:
        return None


@dataclass(slots=True)
class KeptApplication:
    """What one application leaves behind: stores, clocks, its position, and its fingerprint.

    ``position`` counts the records of all topics that it has seen.
    """

    stores: dict[str, MemoryStore] = field(default_factory=dict)
    clocks: Clocks | None = None
    fingerprint: bytes | None = None
    position: int = 0

    def open(self, store: str) -> MemoryStore:
        return self.stores.setdefault(store, LastingStore())
