"""What time-ordered buffers offer to operators, and what they hand out.

Implementations: ``change_buffer`` (in memory) and ``join_buffer`` (in an ordered map).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from penstock.model.record import RecordContext
from penstock.model.versioned import ValueAndTimestamp
from penstock.state.protocols import StateStore


class Eviction(NamedTuple):
    """A record that leaves a buffer, with the context it came in."""

    key: Any
    value: Any
    record_context: RecordContext


class Buffered(NamedTuple):
    """Whether a key is in the buffer, and what everyone behind it has last seen of the key."""

    is_buffered: bool
    prior: ValueAndTimestamp | None


class TimeOrderedBuffer(StateStore, Protocol):
    """Records by time, then serialized key."""

    @property
    def num_records(self) -> int: ...

    @property
    def buffer_size_bytes(self) -> int: ...

    @property
    def min_timestamp(self) -> int:
        """The time of the first record; the highest possible time if there is none."""

    def put(self, time: int, key: Any, value: Any, record_context: RecordContext) -> bool:
        """Takes a record; false if it is too late to wait, which only joins know."""

    def evict_while(
        self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]
    ) -> None:
        """Hands out the first record, then drops it, for as long as the predicate holds."""

    def prior_value_for_buffered(self, key: Any) -> Buffered: ...
