"""The protocol of time-ordered buffers, and their entries.

Implementations: ``change_buffer`` (in memory) and ``join_buffer`` (in an ordered map).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from penstock.model.record import RecordContext
from penstock.model.versioned import ValueAndTimestamp
from penstock.state.protocols import StateStore


class Eviction(NamedTuple):
    """A record that leaves a buffer, with its context."""

    key: Any
    value: Any
    record_context: RecordContext


class Buffered(NamedTuple):
    """Whether a key is in the buffer, and the last value of it that later operators have seen."""

    is_buffered: bool
    prior: ValueAndTimestamp | None


class TimeOrderedBuffer(StateStore, Protocol):
    """Records in the order of time, then of serialized keys."""

    @property
    def num_records(self) -> int: ...

    @property
    def buffer_size_bytes(self) -> int: ...

    @property
    def min_timestamp(self) -> int:
        """Return the time of the first record; the highest possible time if there is none."""

    def put(self, time: int, key: Any, value: Any, record_context: RecordContext) -> bool:
        """Add a record. Return false if it is too late, which only happens in joins."""

    def evict_while(
        self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]
    ) -> None:
        """Call back with the first record and remove it, as long as the predicate holds."""

    def prior_value_for_buffered(self, key: Any) -> Buffered: ...
