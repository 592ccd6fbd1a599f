"""The graph of a topology: built step by step, then frozen. Users see ``topology.topology``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import InvalidArgumentError, TopologyError
from penstock.model.site import caller_site
from penstock.state.spec import StoreSpec
from penstock.topology.nodes import Node, Sink, Source, ToLake
from penstock.topology.upgrades.fingerprint import Statement
from penstock.topology.validate import (
    check_new_name,
    check_parents,
    check_pattern_is_free,
    check_table_is_free,
    check_topic_is_free,
    nearest,
)


@dataclass(frozen=True, slots=True)
class GlobalStore:
    """A store that every task can read. ``processor`` fills it from ``source``."""

    spec: StoreSpec
    source: str
    processor: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """All nodes and stores of a topology, in the order in which they were added. Immutable.

    ``internal_topics`` maps repartition topics (without the application's prefix) to the number
    of partitions asked for. ``source_changelogs`` maps stores to the source topic that serves as
    their changelog. ``copartitioned`` are groups of sources that need equal partition counts;
    ``copartition_sites`` are the lines of the user's program that need it. ``statement`` is what
    SQL says about the query that the graph was made from.
    """

    nodes: Mapping[str, Node]
    stores: Mapping[str, StoreSpec]
    global_stores: Mapping[str, GlobalStore]
    internal_topics: Mapping[str, int | None]
    source_changelogs: Mapping[str, str]
    copartitioned: tuple[frozenset[str], ...]
    copartition_sites: Mapping[frozenset[str], str]
    statement: Statement | None = None

    def children(self, name: str) -> list[str]:
        """Return the nodes that have this one as a parent, in the order they were added."""
        return [node.name for node in self.nodes.values() if name in node.parents]

    def is_global(self, name: str) -> bool:
        return any(name in (store.source, store.processor) for store in self.global_stores.values())


@dataclass(slots=True)
class GraphBuilder:
    """Collects nodes and stores. A wrong one is refused when it is added."""

    nodes: dict[str, Node] = field(default_factory=dict)
    stores: dict[str, StoreSpec] = field(default_factory=dict)
    global_stores: dict[str, GlobalStore] = field(default_factory=dict)
    internal_topics: dict[str, int | None] = field(default_factory=dict)
    source_changelogs: dict[str, str] = field(default_factory=dict)
    copartitioned: list[frozenset[str]] = field(default_factory=list)
    copartition_sites: dict[frozenset[str], str] = field(default_factory=dict)
    statement: Statement | None = None

    def freeze(self) -> Graph:
        return Graph(
            nodes=dict(self.nodes),
            stores=dict(self.stores),
            global_stores=dict(self.global_stores),
            internal_topics=dict(self.internal_topics),
            source_changelogs=dict(self.source_changelogs),
            copartitioned=tuple(self.copartitioned),
            copartition_sites=dict(self.copartition_sites),
            statement=self.statement,
        )

    def copy(self) -> GraphBuilder:
        """Return a copy; changes of the copy do not change this builder."""
        return GraphBuilder(
            dict(self.nodes),
            dict(self.stores),
            dict(self.global_stores),
            dict(self.internal_topics),
            dict(self.source_changelogs),
            list(self.copartitioned),
            dict(self.copartition_sites),
            self.statement,
        )

    def add_node(self, node: Node) -> None:
        """Add a node below its parents, and connect it to the stores it names."""
        check_new_name(node, self.nodes)
        if isinstance(node, Source):
            self._check_topics(node)
        else:
            check_parents(node, self.nodes)
        if isinstance(node, ToLake):
            check_table_is_free(node, self.nodes)
        self.nodes[node.name] = replace(node, stores=())
        for store in node.stores:
            self._connect(node.name, store)

    def add_store(self, spec: StoreSpec, *processors: str) -> None:
        """Add a store and connect processors to it; an equal spec is only connected."""
        if not isinstance(spec, StoreSpec):
            raise InvalidArgumentError(
                "not-a-store",
                f"{spec!r} is not a state store",
                fix="give what a builder of Stores makes: Stores.key_value_store_builder(…), say",
                at=caller_site(),
            )
        known = self.stores.get(spec.name)
        if (known is not None and known != spec) or spec.name in self.global_stores:
            raise TopologyError(
                "duplicate-store",
                f"a different state store has already been added with the name {spec.name!r}",
                fix="give one of the two stores another name, or share one store builder",
                at=caller_site(),
            )
        self.stores[spec.name] = spec
        for processor in processors:
            self._connect(processor, spec.name)

    def connect_stores(self, processor: str, *stores: str) -> None:
        """Connect a processor to stores that have been added."""
        if not stores:
            raise TopologyError(
                "no-stores",
                f"no state stores were given to connect to processor {processor!r}",
                fix="name one or more stores that have been added",
                at=caller_site(),
            )
        for store in stores:
            self._connect(processor, store)

    def add_global_store(self, spec: StoreSpec, source: Source, processor: Node) -> None:
        """Add a store that is filled from a topic of its own and that every task can read."""
        check_new_name(source, self.nodes)
        check_new_name(processor, self.nodes)
        if source.name == processor.name:
            raise TopologyError(
                "duplicate-name",
                f"source and processor of global store {spec.name!r} are both named"
                f" {source.name!r}",
                fix="give them different names",
                at=source.site,
            )
        self._check_topics(source)
        if spec.name in self.stores or spec.name in self.global_stores:
            raise TopologyError(
                "duplicate-store",
                f"a different state store has already been added with the name {spec.name!r}",
                fix="give one of the two stores another name",
                at=source.site,
            )
        self.nodes[source.name] = source
        self.nodes[processor.name] = replace(processor, parents=(source.name,), stores=(spec.name,))
        topic = source.topics[0]
        unlogged = spec.with_logging_disabled()
        self.global_stores[spec.name] = GlobalStore(unlogged, source.name, processor.name, topic)
        self.connect_source_store_and_topic(spec.name, topic)

    def add_internal_topic(self, name: str, partitions: int | None = None) -> None:
        self.internal_topics[name] = partitions

    def connect_source_store_and_topic(self, store: str, topic: str) -> None:
        """Let the source topic serve as the store's changelog."""
        if store in self.source_changelogs:
            raise TopologyError(
                "duplicate-store",
                f"store {store!r} mirrors topic {self.source_changelogs[store]!r} already",
                fix="give one of the two stores another name",
                at=caller_site(),
            )
        self.source_changelogs[store] = topic

    def copartition(self, *sources: str, site: str | None = None) -> None:
        group = frozenset(sources)
        self.copartitioned.append(group)
        if site is not None:
            self.copartition_sites.setdefault(group, site)

    def _check_topics(self, source: Source) -> None:
        if source.pattern is not None:
            check_pattern_is_free(source, self.nodes)
            return
        if not source.topics:
            raise TopologyError(
                "no-topics",
                f"source {source.name!r} reads no topic",
                fix="name one or more topics, or a pattern",
                at=source.site,
            )
        for topic in source.topics:
            check_topic_is_free(topic, source, self.nodes)

    def _connect(self, processor: str, store: str) -> None:
        node = self.nodes.get(processor)
        site = caller_site() if node is None else node.site
        if store in self.global_stores:
            raise TopologyError(
                "global-store-connected",
                f"global store {store!r} is readable everywhere and cannot be connected"
                f" to processor {processor!r}",
                fix=f"take {store!r} out of the list of stores",
                at=site,
            )
        if store not in self.stores:
            raise TopologyError(
                "unknown-store",
                f"state store {store!r} is not added yet, so processor {processor!r}"
                f" cannot use it{nearest(store, self.stores)}",
                fix=f"add it first: add_state_store(Stores.key_value_store_builder(… {store!r} …))",
                at=site,
            )
        if node is None:
            raise TopologyError(
                "unknown-processor",
                f"processor {processor!r} is not added yet{nearest(processor, self.nodes)}",
                fix="add the processor before the stores that it uses",
                at=site,
            )
        if isinstance(node, Source | Sink):
            raise TopologyError(
                "store-on-source-or-sink",
                f"state store {store!r} cannot be connected to {processor!r},"
                " which is a source or a sink",
                fix="connect stores to processors only",
                at=caller_site(),
            )
        if store not in node.stores:
            self.nodes[processor] = replace(node, stores=(*node.stores, store))
