"""A state store as data: kind, serdes, retention and layers.

Opening: ``penstock.state.open``. Factories for users: ``penstock.state.stores``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.serde.base import Serde


class StoreKind(StrEnum):
    """The kinds of stores."""

    KEY_VALUE = "kv"
    TIMESTAMPED_KEY_VALUE = "timestamped_kv"
    VERSIONED_KEY_VALUE = "versioned_kv"
    WINDOW = "window"
    TIMESTAMPED_WINDOW = "timestamped_window"
    SESSION = "session"
    # The other kinds are only for DSL operators.
    OUTER_JOIN = "outer_join"
    TIME_ORDERED_BUFFER = "time_ordered_buffer"
    FOREIGN_KEY_SUBSCRIPTION = "foreign_key_subscription"


class StoreHeaders(StrEnum):
    """What a store does with record headers.

    ``KEPT``: rows have the headers of the record that wrote them. ``SHOWN``: values have them, too,
    as ``ValueTimestampHeaders`` or ``AggregationWithHeaders``.
    """

    NONE = "none"
    KEPT = "kept"
    SHOWN = "shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpec:
    """Everything that the bytes and topics of a store depend on. ``*_store_builder`` returns it.

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
    #: Whether a window or session store on disk is ordered by time, for final results.
    time_ordered: bool = False
    headers: StoreHeaders = StoreHeaders.NONE
    #: The time to live of rows in a key-value store, by stream time or by the wall clock.
    ttl_ms: int | None = None
    ttl_by_wall_clock: bool = False
    #: Only for joins: the value serde of the other side (outer-join store).
    other_value_serde: Serde[Any] | None = None
    #: The line of the user's program that made the store. It is not compared.
    site: str | None = field(default=None, compare=False)

    @property
    def is_window(self) -> bool:
        return self.kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)

    @property
    def folder(self) -> str:
        """Return the name of the folder on disk, which depends on the format of rows.

        If a program starts to keep headers, or to let rows expire, the store is restored from its
        changelog, and old rows are not misread.
        """
        if self.headers is not StoreHeaders.NONE:
            return f"{self.name}.headers"
        # Timestamped rows expire by their own timestamps. Plain rows get a timestamp.
        is_stamped = self.ttl_ms is not None and self.kind is StoreKind.KEY_VALUE
        return f"{self.name}.ttl" if is_stamped else self.name

    def with_logging_enabled(self, config: Mapping[str, Any] | None = None) -> StoreSpec:
        topic_config = tuple(sorted((key, str(value)) for key, value in (config or {}).items()))
        return replace(self, logging=True, changelog_config=topic_config)

    def with_logging_disabled(self) -> StoreSpec:
        return replace(self, logging=False, changelog_config=())

    def with_ttl(self, ttl: Duration, *, by_wall_clock: bool = False) -> StoreSpec:
        """Let rows of a key-value store expire.

        A row expires when stream time reaches its timestamp plus ``ttl``. It is hidden from
        then on. A commit soon after deletes it from the store and writes a tombstone to the
        changelog. The timestamp is that of the row or, if rows have none, that of the record which
        wrote it.

        Args:
            ttl: The time to live: a timedelta, milliseconds, or text such as ``"30d"``.
            by_wall_clock: Measure against the system's clock instead of stream time. Rows without
                a timestamp then expire by the time at which they were written.
        """
        ttl_ms = to_ms(ttl, "ttl")
        if ttl_ms < 1:
            raise InvalidArgumentError(
                "bad-ttl",
                f"store {self.name!r}: ttl {ttl!r} is shorter than 1 ms",
                fix="give a ttl of 1 ms or more",
                at=caller_site(),
            )
        if self.kind not in (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE):
            raise InvalidArgumentError(
                "bad-ttl",
                f"store {self.name!r} is of the kind {self.kind.value!r}: only rows of key-value"
                " stores have a ttl",
                fix="give a window or session store a retention_period, a versioned store a"
                " history_retention",
                at=caller_site(),
            )
        return replace(self, ttl_ms=ttl_ms, ttl_by_wall_clock=by_wall_clock)

    def with_caching_enabled(self) -> StoreSpec:
        return replace(self, caching=True)

    def with_caching_disabled(self) -> StoreSpec:
        return replace(self, caching=False)


StoreBuilder = StoreSpec
