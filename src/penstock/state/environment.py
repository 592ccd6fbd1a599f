"""What a store gets from its task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from penstock.model.record import Headers, RecordContext
from penstock.serde.base import SerdeDefaults

if TYPE_CHECKING:
    from penstock.state.bytes_store import BytesStore
    from penstock.state.layers.cache import RecordCache


class Changelog(Protocol):
    """Receives the writes of a logged store; ``None`` as value is a tombstone."""

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None: ...

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        """Append many records in this order."""


def _ignore(store: str) -> None:
    return None


def _unknown_time() -> int:
    return -1


@dataclass(slots=True, kw_only=True)
class StoreEnvironment:
    """One per task. ``context`` is the context of the current record, which the task changes."""

    context: RecordContext
    defaults: SerdeDefaults
    #: Opens the ordered map of a persistent store by name: RocksDB, or another one in tests.
    engine: Callable[[str], BytesStore]
    #: Returns the changelog of a store by name, or None if nothing is logged.
    changelog: Callable[[str], Changelog | None]
    #: The task's record cache; None switches caching off for all stores.
    cache: RecordCache | None = None
    #: Called with the store's name for each record that is older than what the store keeps.
    expired: Callable[[str], None] = _ignore
    #: The task's clocks in milliseconds, -1 while unknown; the task sets them.
    stream_time: Callable[[], int] = _unknown_time
    wall_clock: Callable[[], int] = _unknown_time
    #: From the name of a store to the topic name for its serdes.
    changelog_topic: Callable[[str], str] = field(default=lambda store: f"{store}-changelog")
    configs: dict[str, Any] = field(default_factory=dict)
