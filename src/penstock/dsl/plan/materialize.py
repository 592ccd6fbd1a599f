"""From ``Materialized`` to the stores of tables and aggregations, with Kafka Streams' defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.dsl.options.emit_strategy import EmitStrategy
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.naming import Named
from penstock.dsl.options.store_type import StoreType
from penstock.dsl.options.stream_options import options_of
from penstock.dsl.plan.logical import LogicalGraph, PlannedStore
from penstock.dsl.plan.lowering import typed_spec
from penstock.errors import InvalidArgumentError
from penstock.expr.aggregate import Aggregate
from penstock.model.site import caller_site
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    least_retention_ms,
)
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde
from penstock.state.spec import StoreSpec
from penstock.state.stores import (
    KeyValueBytesStoreSupplier,
    SessionBytesStoreSupplier,
    Stores,
    StoreSupplier,
    VersionedBytesStoreSupplier,
    WindowBytesStoreSupplier,
    default_segment_interval_ms,
)

_Supplier = TypeVar("_Supplier")

#: What users may give for a store: options, a store, or only its name.
StoreOptions = Materialized[Any, Any] | StoreSupplier | str


@dataclass(frozen=True, slots=True)
class Materialization:
    """A ``Materialized`` whose store has a name. Users can query it if they chose the name."""

    options: Materialized[Any, Any]
    store_name: str
    is_queryable: bool
    store_type: StoreType | None

    @property
    def queryable_store_name(self) -> str | None:
        return self.store_name if self.is_queryable else None

    @property
    def key_serde(self) -> Serde[Any] | None:
        return resolve_serde(self.options.key)

    @property
    def value_serde(self) -> Serde[Any] | None:
        return resolve_serde(self.options.value)

    @property
    def is_versioned(self) -> bool:
        return isinstance(self.options.store, VersionedBytesStoreSupplier)

    def with_serdes_or(
        self, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None = None
    ) -> Materialization:
        """Return the same with these serdes for those that the user did not give."""
        options = replace(
            self.options,
            key=self.options.key or key_serde,
            value=self.options.value or value_serde,
        )
        return replace(self, options=options)


def materialized_of(
    given: StoreOptions | Named | None,
    *,
    key: Any = None,
    value: Any = None,
) -> Materialized[Any, Any] | None:
    """Make a Materialized of what users may pass; None if they pass nothing."""
    if isinstance(given, StoreSupplier):
        given = Materialized(store=given)
    if given is None and key is None and value is None:
        return None
    for name, serde in (("key", key), ("value", value)):
        if isinstance(serde, Aggregate):
            raise InvalidArgumentError(
                "bad-aggregate-name",
                f"{name}= is the serde of the store, not the name of {serde!r}",
                fix=f"call the member otherwise, such as {name}_=… or total=…",
                at=caller_site(),
            )
    return options_of(Materialized, given, key=key, value=value)


def materialize(
    graph: LogicalGraph,
    options: Materialized[Any, Any],
    prefix: str,
    *,
    force_queryable: bool = False,
) -> Materialization:
    """Name the store. A generated name takes one number."""
    is_queryable = force_queryable or options.store_name is not None
    store_name = options.store_name
    if store_name is None:
        store_name = graph.names.new_store_name(prefix)
        changelog = f"{store_name}-changelog" if options.logging else None
        graph.note_generated(store=store_name, changelog_topic=changelog)
    store_type = options.store_type or graph.default_store_type
    return Materialization(
        options, store_name, is_queryable, StoreType(store_type) if store_type else None
    )


def key_value_store(wanted: Materialization) -> PlannedStore:
    """Plan a timestamped or versioned key-value store. A versioned one is never cached."""
    supplier = wanted.options.store
    if isinstance(supplier, VersionedBytesStoreSupplier):
        spec = Stores.versioned_key_value_store_builder(
            supplier, wanted.key_serde, wanted.value_serde
        )
        return _planned(wanted, spec, caching=False)
    if supplier is None:
        supplier = Stores.persistent_key_value_store(wanted.store_name)
    spec = Stores.timestamped_key_value_store_builder(
        _of_kind(KeyValueBytesStoreSupplier, supplier), wanted.key_serde, wanted.value_serde
    )
    return _planned(wanted, spec)


def window_store(
    wanted: Materialization, windows: TimeWindows | UnlimitedWindows, emit: EmitStrategy
) -> PlannedStore:
    """Plan a timestamped window store that keeps a window at least until it closes."""
    needed_ms = least_retention_ms(windows)
    retention_ms = _retention(wanted, needed_ms, "window size plus grace")
    planned = _window_store(wanted, windows.size_ms, retention_ms)
    return _for_emission(wanted, planned, emit, keeps_cache=True)


def sliding_window_store(
    wanted: Materialization, windows: SlidingWindows, emit: EmitStrategy
) -> PlannedStore:
    """Plan the window store of sliding windows, which need twice the time difference."""
    needed_ms = least_retention_ms(windows)
    retention_ms = _retention(wanted, needed_ms, "twice the time difference plus grace")
    planned = _window_store(wanted, windows.difference_ms, retention_ms)
    return _for_emission(wanted, planned, emit)


def session_store(
    wanted: Materialization, windows: SessionWindows, emit: EmitStrategy
) -> PlannedStore:
    """Plan a session store that keeps a session at least until it closes."""
    needed_ms = least_retention_ms(windows)
    retention_ms = _retention(wanted, needed_ms, "inactivity gap plus grace")
    supplier = wanted.options.store
    if supplier is None:
        supplier = Stores.persistent_session_store(wanted.store_name, retention_ms)
    spec = Stores.session_store_builder(
        _of_kind(SessionBytesStoreSupplier, supplier), wanted.key_serde, wanted.value_serde
    )
    return _for_emission(wanted, _planned(wanted, spec), emit)


def _window_store(wanted: Materialization, size_ms: int, retention_ms: int) -> PlannedStore:
    supplier = wanted.options.store
    if supplier is None:
        supplier = WindowBytesStoreSupplier(
            name=wanted.store_name,
            persistent=True,
            retention_ms=retention_ms,
            window_size_ms=size_ms,
            segment_interval_ms=default_segment_interval_ms(retention_ms),
            retain_duplicates=False,
        )
    spec = Stores.timestamped_window_store_builder(
        _of_kind(WindowBytesStoreSupplier, supplier), wanted.key_serde, wanted.value_serde
    )
    return _planned(wanted, spec)


def _for_emission(
    wanted: Materialization, planned: PlannedStore, emit: EmitStrategy, *, keeps_cache: bool = False
) -> PlannedStore:
    if not emit.is_final:
        return planned
    # A final result is emitted once, so a cache would be useless. Kafka Streams keeps it for
    # windows of fixed size, which only costs memory.
    if not keeps_cache:
        planned.spec = planned.spec.with_caching_disabled()
    # Closed windows are searched by time. A store of the user stays as it is.
    if wanted.options.store is None:
        planned.spec = replace(planned.spec, time_ordered=True)
    return planned


def _planned(
    wanted: Materialization, spec: StoreSpec, *, caching: bool | None = None
) -> PlannedStore:
    options = wanted.options
    logged = (
        spec.with_logging_enabled(options.changelog_config)
        if options.logging
        else spec.with_logging_disabled()
    )
    cached = replace(logged, caching=options.caching if caching is None else caching)
    if options.store is not None:
        return PlannedStore(cached, has_format=True)
    if wanted.store_type is not None:
        return PlannedStore(typed_spec(cached, wanted.store_type))
    return PlannedStore(cached, has_type=False)


def _retention(wanted: Materialization, needed_ms: int, what: str) -> int:
    retention_ms = wanted.options.retention_ms
    if retention_ms is None:
        return needed_ms
    if retention_ms < needed_ms:
        raise InvalidArgumentError(
            "store-retention-too-short",
            f"store {wanted.store_name!r} keeps {retention_ms} ms, {what} is {needed_ms} ms",
            fix=f"give {wanted.store_name!r} a retention of {needed_ms} ms or more",
            at=caller_site(),
        )
    return retention_ms


def _of_kind(kind: type[_Supplier], supplier: StoreSupplier) -> _Supplier:
    if not isinstance(supplier, kind):
        raise InvalidArgumentError(
            "wrong-supplier",
            f"this operator keeps its result in a store of a {kind.__name__}, not of {supplier!r}",
            fix="use the factory of Stores that fits the operator",
            at=caller_site(),
        )
    return supplier
