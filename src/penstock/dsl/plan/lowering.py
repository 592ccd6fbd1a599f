"""From the logical graph to nodes: the target of ``LogicalNode.lower``. Caller: ``build``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from penstock.dsl.options.store_type import StoreType
from penstock.dsl.plan.logical import PlannedStore
from penstock.errors import TopologyError
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec
from penstock.topology.graph import GraphBuilder

#: Kinds of stores that ``dsl.store.format`` applies to, without joins and buffers.
_WITH_HEADERS = (
    StoreKind.TIMESTAMPED_KEY_VALUE,
    StoreKind.TIMESTAMPED_WINDOW,
    StoreKind.SESSION,
)


@dataclass(slots=True)
class Lowering:
    """Adds nodes to ``graph`` and stores through ``add_store``.

    Optimizer switches that lowering follows: ``reuses_source_topics``.
    """

    graph: GraphBuilder
    store_type: StoreType = StoreType.ROCKS_DB
    reuses_source_topics: bool = False
    keeps_headers: bool = False
    _owners: dict[str, PlannedStore | StoreSpec] = field(default_factory=dict)

    def add_store(self, store: PlannedStore | StoreSpec, *processors: str) -> None:
        """Add a store and connect it. Refuse two stores with one name."""
        owner = self._owners.setdefault(store.name, store)
        # Also for equal specs: two counts in one store would mix their results.
        if owner is not store and (isinstance(owner, PlannedStore) or owner != store):
            raise TopologyError(
                "duplicate-store",
                f"a different state store has already been added with the name {store.name!r}"
                f"{_made_at(owner)}",
                fix="give one of the two operators another store name",
                at=_site(store),
            )
        self.graph.add_store(self.spec_of(store), *processors)

    def spec_of(self, store: PlannedStore | StoreSpec) -> StoreSpec:
        """Return the spec to add, with the configured store type if none was chosen."""
        if isinstance(store, StoreSpec):
            return store
        spec = store.spec if store.has_type else typed_spec(store.spec, self.store_type)
        if self.keeps_headers and not store.has_format and spec.kind in _WITH_HEADERS:
            return replace(spec, headers=StoreHeaders.KEPT)
        return spec


def _site(store: PlannedStore | StoreSpec) -> str | None:
    return store.site if isinstance(store, StoreSpec) else store.spec.site


def _made_at(store: PlannedStore | StoreSpec) -> str:
    site = _site(store)
    return "" if site is None else f" (at {site})"


def typed_spec(spec: StoreSpec, store_type: StoreType) -> StoreSpec:
    """Return the spec of a store for RocksDB, as operators plan it, or for memory."""
    if store_type is StoreType.ROCKS_DB:
        return spec
    # Stores in memory expire each window alone: segments of one millisecond, in Kafka's words.
    interval_ms = min(spec.segment_interval_ms, 1)
    return replace(spec, persistent=False, segment_interval_ms=interval_ms)
