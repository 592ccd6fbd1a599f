"""State in memory that another application can continue with, as it could from Kafka."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.clocks import Clocks
from penstock.state.engine.memory import MemoryStore


class LastingStore(MemoryStore):
    """A store in memory that keeps its rows when it is closed and opened again."""

    def close(self) -> None:
        return None


@dataclass(slots=True)
class KeptApplication:
    """The state that one application leaves: stores, clocks, position and fingerprint.

    ``position`` counts the records of all topics that the application has read.
    """

    stores: dict[str, MemoryStore] = field(default_factory=dict)
    clocks: Clocks | None = None
    fingerprint: bytes | None = None
    position: int = 0

    def open(self, store: str) -> MemoryStore:
        return self.stores.setdefault(store, LastingStore())
