"""The factories for users: suppliers choose the engine, builders add the serdes.

A builder is a ``StoreSpec``. Opening a store: ``penstock.state.open``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.model.former_names import one_spelling
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.serde.serdes import SerdeLike, resolve_serde
from penstock.state.engine.segments import default_segment_interval_ms
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec
from penstock.state.versioned.versioned_bytes import default_versioned_interval_ms

__all__ = [
    "KeyValueBytesStoreSupplier",
    "SessionBytesStoreSupplier",
    "StoreSupplier",
    "Stores",
    "VersionedBytesStoreSupplier",
    "WindowBytesStoreSupplier",
    "default_segment_interval_ms",
    "key_value_spec",
    "window_spec",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValueBytesStoreSupplier:
    """The engine of a key-value store. With ``max_entries``, it is an LRU map.

    ``headers`` means that rows keep the headers of the record that wrote them.
    """

    name: str
    persistent: bool
    max_entries: int | None = None
    headers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedBytesStoreSupplier:
    """The engine of a versioned store, and its history retention."""

    name: str
    history_retention_ms: int
    segment_interval_ms: int
    persistent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBytesStoreSupplier:
    """The engine of a window store, and its retention, which is at least the window size."""

    name: str
    persistent: bool
    retention_ms: int
    window_size_ms: int
    segment_interval_ms: int
    retain_duplicates: bool
    headers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBytesStoreSupplier:
    """The engine of a session store, and its retention."""

    name: str
    persistent: bool
    retention_ms: int
    segment_interval_ms: int
    headers: bool = False


StoreSupplier = (
    KeyValueBytesStoreSupplier
    | VersionedBytesStoreSupplier
    | WindowBytesStoreSupplier
    | SessionBytesStoreSupplier
)


@one_spelling
class Stores:
    """Factories of suppliers and of store builders, by Kafka Streams' names.

    Example:
        >>> supplier = Stores.persistent_key_value_store("counts")
        >>> builder = Stores.key_value_store_builder(supplier).with_caching_enabled()
        >>> builder.name, builder.persistent, builder.caching
        ('counts', True, True)
    """

    @staticmethod
    def persistent_key_value_store(name: str) -> KeyValueBytesStoreSupplier:
        """A key-value store in RocksDB."""
        return KeyValueBytesStoreSupplier(name=_named(name), persistent=True)

    @staticmethod
    def persistent_timestamped_key_value_store(name: str) -> KeyValueBytesStoreSupplier:
        """A key-value store in RocksDB. The builder decides whether values have timestamps."""
        return KeyValueBytesStoreSupplier(name=_named(name), persistent=True)

    @staticmethod
    def persistent_timestamped_key_value_store_with_headers(
        name: str,
    ) -> KeyValueBytesStoreSupplier:
        """A key-value store in RocksDB whose rows keep record headers, also in the DSL."""
        return KeyValueBytesStoreSupplier(name=_named(name), persistent=True, headers=True)

    @staticmethod
    def in_memory_key_value_store(name: str) -> KeyValueBytesStoreSupplier:
        """A key-value store in memory, restored from its changelog after a restart."""
        return KeyValueBytesStoreSupplier(name=_named(name), persistent=False)

    @staticmethod
    def lru_map(name: str, max_cache_size: int) -> KeyValueBytesStoreSupplier:
        """A key-value store in memory that keeps the ``max_cache_size`` entries used last."""
        problem = f"max_cache_size {max_cache_size} is negative"
        _check(max_cache_size >= 0, name, problem, "give 0 or more")
        return KeyValueBytesStoreSupplier(
            name=_named(name), persistent=False, max_entries=max_cache_size
        )

    @staticmethod
    def persistent_versioned_key_value_store(
        name: str, history_retention: Duration, segment_interval: Duration | None = None
    ) -> VersionedBytesStoreSupplier:
        """A store in RocksDB that keeps old versions for the history retention.

        Args:
            name: The store's name.
            history_retention: How long, in event time, old versions can be read.
            segment_interval: The length of a segment; segments expire as a whole.
        """
        history_ms = _not_negative(_named(name), history_retention, "history_retention")
        if segment_interval is None:
            interval_ms = default_versioned_interval_ms(history_ms)
        else:
            interval_ms = _duration(name, segment_interval, "segment_interval")
            problem = f"segment_interval {interval_ms} ms is below 1 ms"
            _check(interval_ms >= 1, name, problem, "give 1 ms or more")
        return VersionedBytesStoreSupplier(
            name=name, history_retention_ms=history_ms, segment_interval_ms=interval_ms
        )

    @staticmethod
    def persistent_window_store(
        name: str,
        retention_period: Duration,
        window_size: Duration,
        retain_duplicates: bool = False,
    ) -> WindowBytesStoreSupplier:
        """A window store in RocksDB.

        Args:
            name: The store's name.
            retention_period: How long, in event time, windows are kept; at least the size.
            window_size: The length of a window.
            retain_duplicates: Whether values of equal key and time are all kept, as in joins.
        """
        retention_ms, size_ms = _window_times(name, retention_period, window_size)
        return WindowBytesStoreSupplier(
            name=name,
            persistent=True,
            retention_ms=retention_ms,
            window_size_ms=size_ms,
            segment_interval_ms=default_segment_interval_ms(retention_ms),
            retain_duplicates=retain_duplicates,
        )

    @staticmethod
    def persistent_timestamped_window_store(
        name: str,
        retention_period: Duration,
        window_size: Duration,
        retain_duplicates: bool = False,
    ) -> WindowBytesStoreSupplier:
        """A window store in RocksDB. The builder decides whether values have timestamps."""
        return Stores.persistent_window_store(
            name, retention_period, window_size, retain_duplicates
        )

    @staticmethod
    def persistent_timestamped_window_store_with_headers(
        name: str,
        retention_period: Duration,
        window_size: Duration,
        retain_duplicates: bool = False,
    ) -> WindowBytesStoreSupplier:
        """A window store in RocksDB whose rows keep record headers, also in the DSL."""
        supplier = Stores.persistent_window_store(
            name, retention_period, window_size, retain_duplicates
        )
        return replace(supplier, headers=True)

    @staticmethod
    def in_memory_window_store(
        name: str,
        retention_period: Duration,
        window_size: Duration,
        retain_duplicates: bool = False,
    ) -> WindowBytesStoreSupplier:
        """A window store in memory; arguments as for ``persistent_window_store``."""
        retention_ms, size_ms = _window_times(name, retention_period, window_size)
        return WindowBytesStoreSupplier(
            name=name,
            persistent=False,
            retention_ms=retention_ms,
            window_size_ms=size_ms,
            # In memory, each window expires alone: segments of one millisecond, in Kafka's words.
            segment_interval_ms=1,
            retain_duplicates=retain_duplicates,
        )

    @staticmethod
    def persistent_session_store(
        name: str, retention_period: Duration
    ) -> SessionBytesStoreSupplier:
        """A session store in RocksDB; sessions are kept for the retention after their end."""
        retention_ms = _not_negative(_named(name), retention_period, "retention_period")
        return SessionBytesStoreSupplier(
            name=name,
            persistent=True,
            retention_ms=retention_ms,
            segment_interval_ms=default_segment_interval_ms(retention_ms),
        )

    @staticmethod
    def persistent_session_store_with_headers(
        name: str, retention_period: Duration
    ) -> SessionBytesStoreSupplier:
        """A session store in RocksDB whose rows keep record headers, also in the DSL."""
        return replace(Stores.persistent_session_store(name, retention_period), headers=True)

    @staticmethod
    def in_memory_session_store(name: str, retention_period: Duration) -> SessionBytesStoreSupplier:
        """A session store in memory; sessions are kept for the retention after their end."""
        retention_ms = _not_negative(_named(name), retention_period, "retention_period")
        return SessionBytesStoreSupplier(
            name=name, persistent=False, retention_ms=retention_ms, segment_interval_ms=1
        )

    @staticmethod
    def key_value_store_builder(
        supplier: KeyValueBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A key-value store; by default, with the configured serdes."""
        _supplied(supplier, KeyValueBytesStoreSupplier)
        return key_value_spec(supplier, StoreKind.KEY_VALUE, key, value)

    @staticmethod
    def timestamped_key_value_store_builder(
        supplier: KeyValueBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A key-value store of ``ValueAndTimestamp``."""
        _supplied(supplier, KeyValueBytesStoreSupplier)
        return key_value_spec(supplier, StoreKind.TIMESTAMPED_KEY_VALUE, key, value)

    @staticmethod
    def timestamped_key_value_store_with_headers_builder(
        supplier: KeyValueBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A key-value store of ``ValueTimestampHeaders``, in RocksDB or in memory.

        Headers are also in the changelog, and are restored from it. The changelog of a store
        without headers can be read: rows have no headers until they are written again.
        """
        spec = Stores.timestamped_key_value_store_builder(supplier, key, value)
        return replace(spec, headers=StoreHeaders.SHOWN)

    @staticmethod
    def versioned_key_value_store_builder(
        supplier: VersionedBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A versioned key-value store, which can be read as of a time."""
        _supplied(supplier, VersionedBytesStoreSupplier)
        return StoreSpec(
            name=supplier.name,
            kind=StoreKind.VERSIONED_KEY_VALUE,
            persistent=supplier.persistent,
            key_serde=resolve_serde(key),
            value_serde=resolve_serde(value),
            history_retention_ms=supplier.history_retention_ms,
            segment_interval_ms=supplier.segment_interval_ms,
            site=caller_site(),
        )

    @staticmethod
    def window_store_builder(
        supplier: WindowBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A window store; by default, with the configured serdes."""
        _supplied(supplier, WindowBytesStoreSupplier)
        return window_spec(supplier, StoreKind.WINDOW, key, value)

    @staticmethod
    def timestamped_window_store_builder(
        supplier: WindowBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A window store of ``ValueAndTimestamp``."""
        _supplied(supplier, WindowBytesStoreSupplier)
        return window_spec(supplier, StoreKind.TIMESTAMPED_WINDOW, key, value)

    @staticmethod
    def timestamped_window_store_with_headers_builder(
        supplier: WindowBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A window store of ``ValueTimestampHeaders``, in RocksDB or in memory."""
        spec = Stores.timestamped_window_store_builder(supplier, key, value)
        return replace(spec, headers=StoreHeaders.SHOWN)

    @staticmethod
    def session_store_with_headers_builder(
        supplier: SessionBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A session store of ``AggregationWithHeaders``, in RocksDB or in memory."""
        spec = Stores.session_store_builder(supplier, key, value)
        return replace(spec, headers=StoreHeaders.SHOWN)

    @staticmethod
    def session_store_builder(
        supplier: SessionBytesStoreSupplier,
        key: SerdeLike = None,
        value: SerdeLike = None,
    ) -> StoreSpec:
        """A session store; by default, with the configured serdes."""
        _supplied(supplier, SessionBytesStoreSupplier)
        return StoreSpec(
            name=supplier.name,
            kind=StoreKind.SESSION,
            persistent=supplier.persistent,
            key_serde=resolve_serde(key),
            value_serde=resolve_serde(value),
            retention_ms=supplier.retention_ms,
            segment_interval_ms=supplier.segment_interval_ms,
            headers=_headers_of(supplier),
            site=caller_site(),
        )


def key_value_spec(
    supplier: KeyValueBytesStoreSupplier,
    kind: StoreKind,
    key_serde: SerdeLike,
    value_serde: SerdeLike,
) -> StoreSpec:
    """Return the spec of a supplier's store, plain or timestamped."""
    return StoreSpec(
        name=supplier.name,
        kind=kind,
        persistent=supplier.persistent,
        key_serde=resolve_serde(key_serde),
        value_serde=resolve_serde(value_serde),
        max_entries=supplier.max_entries,
        headers=_headers_of(supplier) if kind is not StoreKind.KEY_VALUE else StoreHeaders.NONE,
        site=caller_site(),
    )


def _headers_of(
    supplier: KeyValueBytesStoreSupplier | WindowBytesStoreSupplier | SessionBytesStoreSupplier,
) -> StoreHeaders:
    return StoreHeaders.KEPT if supplier.headers else StoreHeaders.NONE


def window_spec(
    supplier: WindowBytesStoreSupplier,
    kind: StoreKind,
    key_serde: SerdeLike,
    value_serde: SerdeLike,
) -> StoreSpec:
    """Return the spec of a supplier's window store, plain or timestamped."""
    # Keys of duplicates never occur again, so compaction would keep all of them for ever.
    changelog_config = (("cleanup.policy", "delete"),) if supplier.retain_duplicates else ()
    return StoreSpec(
        name=supplier.name,
        kind=kind,
        persistent=supplier.persistent,
        key_serde=resolve_serde(key_serde),
        value_serde=resolve_serde(value_serde),
        changelog_config=changelog_config,
        retention_ms=supplier.retention_ms,
        window_size_ms=supplier.window_size_ms,
        segment_interval_ms=supplier.segment_interval_ms,
        retain_duplicates=supplier.retain_duplicates,
        headers=_headers_of(supplier) if kind is not StoreKind.WINDOW else StoreHeaders.NONE,
        site=caller_site(),
    )


def _window_times(name: str, retention: Duration, size: Duration) -> tuple[int, int]:
    retention_ms = _not_negative(_named(name), retention, "retention_period")
    size_ms = _not_negative(name, size, "window_size")
    if size_ms > retention_ms:
        raise InvalidArgumentError(
            "store-retention-too-short",
            f"store {name!r} keeps {retention_ms} ms, its window size is {size_ms} ms",
            fix=f"give {name!r} a retention_period of {size_ms} ms or more",
            at=caller_site(),
        )
    return retention_ms, size_ms


def _named(name: str) -> str:
    if name is None:
        raise NullArgumentError(
            "null-argument", "the name of a store is None", "give the store a name", caller_site()
        )
    return name


def _supplied(supplier: object, kind: type[Any]) -> None:
    if supplier is None:
        raise NullArgumentError(
            "null-argument",
            "the supplier of a store is None",
            "give what a factory of Stores makes, such as Stores.in_memory_key_value_store(name)",
            caller_site(),
        )
    if not isinstance(supplier, kind):
        raise InvalidArgumentError(
            "wrong-supplier",
            f"the store builder needs a {kind.__name__}, not {supplier!r}",
            fix="use the builder that fits the supplier, such as window_store_builder for"
            " persistent_window_store",
            at=caller_site(),
        )


def _duration(name: str, duration: Duration, what: str) -> int:
    if duration is None:
        raise InvalidArgumentError(
            "bad-duration",
            f"store {name!r}: {what} is None",
            'give a timedelta, milliseconds as int, or text such as "5m"',
            caller_site(),
        )
    return to_ms(duration, what)


def _not_negative(name: str, duration: Duration, what: str) -> int:
    duration_ms = _duration(name, duration, what)
    _check(duration_ms >= 0, name, f"{what} {duration_ms} ms is negative", "give 0 or more")
    return duration_ms


def _check(holds: bool, name: str, problem: str, fix: str) -> None:
    if not holds:
        raise InvalidArgumentError(
            "bad-store-argument", f"store {name!r}: {problem}", fix, caller_site()
        )
