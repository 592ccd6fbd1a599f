"""The stores of a stream-stream join: one per side, and one for records without a partner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.dsl.options.join_options import StreamJoined
from penstock.dsl.options.store_type import StoreType, store_type_of
from penstock.dsl.plan.logical import LogicalGraph, PlannedStore
from penstock.dsl.plan.lowering import typed_spec
from penstock.errors import StreamsError
from penstock.model.site import caller_site
from penstock.model.windows.definitions import JoinWindows
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.stores import Stores, WindowBytesStoreSupplier
from penstock.topology.nodes import JoinKind


@dataclass(frozen=True, slots=True)
class JoinStores:
    """The stores. Only left and outer joins have ``outer``, which both arms share."""

    left: PlannedStore
    right: PlannedStore
    outer: PlannedStore | None

    def note_generated(self, graph: LogicalGraph) -> None:
        for store in (self.left, self.right, self.outer):
            if store is not None:
                changelog = f"{store.name}-changelog" if store.spec.logging else None
                graph.note_generated(store=store.name, changelog_topic=changelog)


def join_stores(
    graph: LogicalGraph,
    kind: JoinKind,
    windows: JoinWindows,
    options: StreamJoined[Any, Any, Any],
    generated_left: str,
    generated_right: str,
) -> JoinStores:
    """Plan the stores: those of the user, or stores named after the join."""
    _check_names(options)
    name = options.store_name
    left_name = generated_left if name is None else name + _suffix(kind, is_left=True)
    right_name = generated_right if name is None else name + _suffix(kind, is_left=False)
    planned = _Planner(graph, windows, options)
    left_serde, right_serde = (
        resolve_serde(options.value), resolve_serde(options.other_value)
    )  # fmt: skip
    left = planned.window_store(options.this_store, left_name, left_serde)
    right = planned.window_store(options.other_store, right_name, right_serde)
    waits = kind is not JoinKind.INNER and not windows.is_eager
    outer = planned.outer_store(kind, generated_left) if waits else None
    return JoinStores(left, right, outer)


def _suffix(kind: JoinKind, *, is_left: bool) -> str:
    if is_left:
        return "-outer-this-join" if kind is JoinKind.OUTER else "-this-join"
    return "-other-join" if kind is JoinKind.INNER else "-outer-other-join"


class _Planner:
    def __init__(
        self, graph: LogicalGraph, windows: JoinWindows, options: StreamJoined[Any, Any, Any]
    ) -> None:
        self._windows = windows
        self._options = options
        self._key_serde = resolve_serde(options.key)
        self._given_type = store_type_of(options.store_type)
        self._type = self._given_type or graph.default_store_type
        self._retention_ms = windows.size_ms + windows.grace_ms

    def window_store(
        self, supplier: WindowBytesStoreSupplier | None, name: str, value_serde: Serde[Any] | None
    ) -> PlannedStore:
        if supplier is not None:
            self._check(supplier)
            return PlannedStore(Stores.window_store_builder(supplier, self._key_serde, value_serde))
        supplier = Stores.persistent_window_store(
            f"{name}-store", self._retention_ms, self._windows.size_ms, retain_duplicates=True
        )
        spec = Stores.window_store_builder(supplier, self._key_serde, value_serde)
        # The changelog of a store with duplicates must not be compacted, whatever the user sets.
        config = dict(self._options.changelog_config or {}) | {"cleanup.policy": "delete"}
        return self._typed(self._logged(spec, config))

    def outer_store(self, kind: JoinKind, generated_left: str) -> PlannedStore:
        options = self._options
        spec = StoreSpec(
            name=f"{self._outer_name(kind, generated_left)}-store",
            kind=StoreKind.OUTER_JOIN,
            key_serde=self._key_serde,
            value_serde=resolve_serde(options.value),
            other_value_serde=resolve_serde(options.other_value),
            retention_ms=self._retention_ms,
            window_size_ms=self._windows.size_ms,
        )
        spec = self._logged(spec, dict(options.changelog_config or {}))
        if self._given_type is None and options.this_store is not None:
            return PlannedStore(replace(spec, persistent=options.this_store.persistent))
        return self._typed(spec)

    def _outer_name(self, kind: JoinKind, generated_left: str) -> str:
        options = self._options
        suffix = "-outer-shared-join" if kind is JoinKind.OUTER else "-left-shared-join"
        if options.this_store is not None and options.this_store.name:
            return options.this_store.name + suffix
        if options.store_name is not None:
            return options.store_name + suffix
        return f"KSTREAM-OUTERSHARED-{generated_left[-10:]}"

    def _logged(self, spec: StoreSpec, config: dict[str, str]) -> StoreSpec:
        if self._options.logging:
            return spec.with_logging_enabled(config)
        return spec.with_logging_disabled()

    def _typed(self, spec: StoreSpec) -> PlannedStore:
        if self._type is None:
            return PlannedStore(spec, has_type=False)
        return PlannedStore(typed_spec(spec, StoreType(self._type)))

    def _check(self, supplier: WindowBytesStoreSupplier) -> None:
        if not supplier.retain_duplicates:
            raise _bad(
                f"{supplier.name!r} does not retain duplicates", "give retain_duplicates=True"
            )
        size_ms, retention_ms = self._windows.size_ms, self._retention_ms
        if (supplier.window_size_ms, supplier.retention_ms) != (size_ms, retention_ms):
            raise _bad(
                f"{supplier.name!r} has windows of {supplier.window_size_ms} ms and keeps"
                f" {supplier.retention_ms} ms; the join's windows are {size_ms} ms, with grace"
                f" {retention_ms} ms",
                f"give it window_size={size_ms} and retention_period={retention_ms}",
            )


def _check_names(options: StreamJoined[Any, Any, Any]) -> None:
    this, other = options.this_store, options.other_store
    if this is not None and other is not None and this.name == other.name:
        raise _bad(f"{this.name!r} is given for both sides", "give the stores different names")


def _bad(problem: str, fix: str) -> StreamsError:
    return StreamsError("bad-join-store", f"join store {problem}", fix, caller_site())
