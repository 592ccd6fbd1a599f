"""A state store as data: its kind, its serdes, how long it keeps what, and its layers.

How it is opened: ``penstock.state.open``. Factories users call: ``penstock.state.stores``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from penstock.serde.base import Serde


class StoreKind(StrEnum):
    """What a store offers to its reader."""

    KEY_VALUE = "kv"
    TIMESTAMPED_KEY_VALUE = "timestamped_kv"
    VERSIONED_KEY_VALUE = "versioned_kv"
    WINDOW = "window"
    TIMESTAMPED_WINDOW = "timestamped_window"
    SESSION = "session"
    # The remaining kinds belong to DSL operators; user code cannot name them.
    OUTER_JOIN = "outer_join"
    TIME_ORDERED_BUFFER = "time_ordered_buffer"
    FOREIGN_KEY_SUBSCRIPTION = "foreign_key_subscription"


class StoreHeaders(StrEnum):
    """What a store does with record headers.

    ``KEPT`` rows have the headers of the record that wrote them; ``SHOWN`` are those whose values
    have them too, as ``ValueTimestampHeaders`` or ``AggregationWithHeaders``.
    """

    NONE = "none"
    KEPT = "kept"
    SHOWN = "shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpec:
    """Everything that decides a store's bytes and topics. Also what ``*_store_builder`` returns.

    ``persistent`` means RocksDB, else memory. ``max_entries`` makes a key-value store an LRU map.
    Serdes left None come from the configuration when the store is opened.
    """

    name: str
    kind: StoreKind
    persistent: bool = True
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    logging: bool = True
    changelog_config: tuple[tuple[str, str], ...] = ()
    caching: bool = False
    retention_ms: int = 0
    window_size_ms: int = 0
    segment_interval_ms: int = 0
    retain_duplicates: bool = False
    history_retention_ms: int = 0
    max_entries: int | None = None
    #: Keeps a window or session store on disk in order of time, for final emission.
    time_ordered: bool = False
    headers: StoreHeaders = StoreHeaders.NONE
    #: Only for joins: the value serde of the other side (outer-join store).
    other_value_serde: Serde[Any] | None = None
    #: The user's line that made the store; two stores are the same wherever they were made.
    site: str | None = field(default=None, compare=False)

    @property
    def is_window(self) -> bool:
        return self.kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)

    @property
    def folder(self) -> str:
        """The name of the store's folder on disk: another format of its rows is another folder.

        So a program that begins to keep headers restores the store from its changelog instead of
        misreading old rows.
        """
        return self.name if self.headers is StoreHeaders.NONE else f"{self.name}.headers"

    def with_logging_enabled(self, config: Mapping[str, Any] | None = None) -> StoreSpec:
        topic_config = tuple(sorted((key, str(value)) for key, value in (config or {}).items()))
        return replace(self, logging=True, changelog_config=topic_config)

    def with_logging_disabled(self) -> StoreSpec:
        return replace(self, logging=False, changelog_config=())

    def with_caching_enabled(self) -> StoreSpec:
        return replace(self, caching=True)

    def with_caching_disabled(self) -> StoreSpec:
        return replace(self, caching=False)


StoreBuilder = StoreSpec
