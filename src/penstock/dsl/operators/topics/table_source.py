"""Reads a topic into a table, or makes a table of a stream.

As data: ``penstock.topology.nodes.topics.table_source``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.topics.repartition import new_repartition
from penstock.dsl.operators.topics.source import source_node
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.stream_options import Consumed, not_none
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode, Operator
from penstock.dsl.plan.materialize import Materialization, key_value_store, materialize
from penstock.dsl.plan.stream import Stream
from penstock.dsl.plan.table import GlobalTable, SourceTable, Table
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.serde.inferred import inferred
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import TableSource

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

_SOURCE = "KSTREAM-SOURCE-"
_TABLE = "KTABLE-SOURCE-"
_TO_TABLE = "KSTREAM-TOTABLE-"


class TableFromTopic(LogicalNode):
    """A source and its table, whose name it has."""

    def __init__(
        self, name: str, source: str, topic: str, consumed: Consumed[Any, Any], state: SourceTable
    ) -> None:
        super().__init__(name)
        self.source = source
        self.topic = topic
        self.consumed = consumed
        self.state = state

    def lower(self, to: Lowering) -> None:
        to.graph.add_node(source_node(self.source, (self.topic,), self.consumed, self.site))
        to.graph.add_node(self._table(parents=(self.source,)))
        store = self.state.store
        if store is None or not self.state.is_materialized:
            return
        if to.reuses_source_topics:
            # The topic has the same records as the changelog would have, so it is the changelog.
            store = replace(store, spec=store.spec.with_logging_disabled())
            to.graph.connect_source_store_and_topic(store.name, self.topic)
        to.add_store(store, self.name)

    def _table(self, parents: tuple[str, ...]) -> TableSource:
        return TableSource(
            name=self.name,
            parents=parents,
            site=self.site,
            store=self.state.store_name,
            sends_old=self.state.sends_old,
            versioned=self.state.is_versioned,
        )


class GlobalTableFromTopic(TableFromTopic):
    """A table that every task has completely. Its topic is the changelog of its store."""

    def lower(self, to: Lowering) -> None:
        assert self.state.store is not None
        source = source_node(self.source, (self.topic,), self.consumed, self.site)
        to.graph.add_global_store(to.spec_of(self.state.store), source, self._table(parents=()))


def table_from(
    graph: LogicalGraph,
    topic: str,
    consumed: Consumed[Any, Any],
    options: Materialized[Any, Any] | None,
) -> Table:
    """Add a source, and return its table, which has a store if an operator needs one."""
    wanted = materialize(graph, _with_serdes(consumed, options), f"{not_none(topic, 'topic')}-")
    consumed = replace(consumed, key=wanted.key_serde, value=wanted.value_serde)
    node = _source(graph, topic, consumed, wanted, TableFromTopic)
    node.output_versioned = wanted.is_versioned
    graph.add(node)
    return Table(
        name=node.name,
        node=node,
        graph=graph,
        sources=frozenset([node.source]),
        state=node.state,
        key_serde=wanted.key_serde,
        value_serde=wanted.value_serde,
        queryable_store_name=wanted.queryable_store_name,
    )


def global_table_from(
    graph: LogicalGraph,
    topic: str,
    consumed: Consumed[Any, Any],
    options: Materialized[Any, Any] | None,
) -> GlobalTable:
    """Add a global table, which always has a store."""
    options = _with_serdes(consumed, options).with_logging_disabled()
    wanted = materialize(graph, options, f"{not_none(topic, 'topic')}-", force_queryable=True)
    if wanted.is_versioned:
        raise TopologyError(
            "versioned-global-table",
            f"the global table of topic {topic!r} cannot be versioned",
            fix="use a key-value store, or a table that is not global",
            at=caller_site(),
        )
    consumed = replace(consumed, key=wanted.key_serde, value=wanted.value_serde)
    graph.add(_source(graph, topic, consumed, wanted, GlobalTableFromTopic))
    return GlobalTable(
        graph, wanted.store_name, wanted.queryable_store_name, wanted.key_serde, wanted.value_serde
    )


def stream_to_table(
    stream: Stream, options: Materialized[Any, Any] | None, name: str | None
) -> Table:
    """Make a table of a stream, after a repartition if the key has changed."""
    graph, is_named = stream.graph, name is not None
    name = graph.names.given_or_new(name, _TO_TABLE)
    if options is None:
        options = Materialized(key=stream.key_serde, value=stream.value_serde)
    wanted = materialize(graph, options, _TO_TABLE)
    key_serde = wanted.key_serde or stream.key_serde
    value_serde = wanted.value_serde or stream.value_serde
    # Java gives a store with options the default serdes, which come first here, too.
    wanted = wanted.with_serdes_or(inferred(stream.key_serde), inferred(stream.value_serde))
    parent, sources = stream.node, stream.sources
    if stream.key_changed:
        parent = new_repartition(graph, name, key_serde, value_serde, name_is_given=is_named)
        graph.add(parent, stream.node)
        sources = frozenset([parent.name])
    state = SourceTable(key_value_store(wanted), is_materialized=wanted.is_queryable)
    node = Operator(name, partial(TableSource), table=state, output_versioned=wanted.is_versioned)
    graph.add(node, parent)
    return Table(
        name=name,
        node=node,
        graph=graph,
        sources=sources,
        state=state,
        key_serde=key_serde,
        value_serde=value_serde,
        queryable_store_name=wanted.queryable_store_name,
    )


def _source(
    graph: LogicalGraph,
    topic: str,
    consumed: Consumed[Any, Any],
    wanted: Materialization,
    kind: type[TableFromTopic],
) -> TableFromTopic:
    source = graph.names.suffixed_or_new(consumed.name, "-source", _SOURCE)
    name = graph.names.given_or_new(consumed.name, _TABLE)
    state = SourceTable(key_value_store(wanted), is_materialized=wanted.is_queryable)
    return kind(name, source, topic, consumed, state)


def _with_serdes(
    consumed: Consumed[Any, Any], options: Materialized[Any, Any] | None
) -> Materialized[Any, Any]:
    """Return options with the same serdes for topic and store; those of the topic win."""
    options = Materialized() if options is None else options
    return replace(
        options,
        key=resolve_serde(consumed.key) or options.key,
        value=resolve_serde(consumed.value) or options.value,
    )
