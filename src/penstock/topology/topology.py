"""``Topology``: the public class of a graph, also for the Processor API."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from penstock.errors import InvalidArgumentError, TopologyError
from penstock.model.former_names import one_spelling
from penstock.model.site import caller_site
from penstock.processor.functions import (
    StreamPartitioner,
    TimestampExtractor,
    TopicNameExtractor,
)
from penstock.processor.supplier import as_supplier, supplier_stores
from penstock.serde.inferred import UNDECLARED
from penstock.serde.serdes import resolve_serde
from penstock.state.spec import StoreSpec
from penstock.topology.describe import TopologyDescription, describe
from penstock.topology.explanation import Explanation
from penstock.topology.graph import Graph, GraphBuilder
from penstock.topology.json_form import to_json
from penstock.topology.nodes import Process, Sink, Source
from penstock.topology.picture import to_mermaid, to_svg
from penstock.topology.tree import to_tree
from penstock.topology.upgrades.fingerprint import Statement


@one_spelling
class Topology:
    """A graph of sources, processors, stores and sinks. It is a description; nothing runs yet.

    Build one with ``StreamsBuilder``, or node by node:

    >>> from penstock import Topology
    >>> topology = Topology()
    >>> _ = topology.add_source("in", "words", value="string")
    >>> _ = topology.add_sink("out", "copies", "in")
    >>> print(topology.describe())
    Topologies:
       Sub-topology: 0
        Source: in (topics: [words])
          --> out
        Sink: out (topic: copies)
          <-- in
    <BLANKLINE>
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._graph: Graph | None = None

    @staticmethod
    def _from_builder(builder: GraphBuilder) -> Topology:
        topology = Topology()
        topology._builder = builder
        return topology

    def _with_statement(self, statement: Statement) -> Topology:
        """Note what SQL says about the query that this topology runs."""
        self._builder.statement = statement
        self._graph = None
        return self

    @property
    def graph(self) -> Graph:
        """Return the frozen graph. After an addition, the next call returns another one."""
        if self._graph is None:
            self._graph = self._builder.freeze()
        return self._graph

    def add_source(
        self,
        name: str,
        *topics: str | re.Pattern[str],
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
    ) -> Topology:
        """Add a source that reads the topics, or all topics that match one pattern."""
        site = caller_site()
        patterns = [topic for topic in topics if isinstance(topic, re.Pattern)]
        if patterns and len(topics) > 1:
            raise InvalidArgumentError(
                "pattern-and-topics",
                f"source {name!r} is given a pattern together with other topics",
                fix="give one pattern, or topic names only",
                at=site,
            )
        return self._add(
            Source(
                name=name,
                topics=() if patterns else tuple(str(topic) for topic in topics),
                pattern=patterns[0] if patterns else None,
                key_serde=resolve_serde(key),
                value_serde=resolve_serde(value),
                timestamp_extractor=timestamp_extractor,
                offset_reset=offset_reset,
                site=site,
            )
        )

    def add_processor(self, name: str, supplier: Any, *parents: str) -> Topology:
        """Add a processor below its parents, with the stores of the supplier."""
        site = caller_site()
        self._add(
            Process(name=name, supplier=as_supplier(supplier, site), parents=parents, site=site)
        )
        for store in supplier_stores(supplier):
            self.add_state_store(store, name)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicNameExtractor,
        *parents: str,
        key: Any = None,
        value: Any = None,
        partitioner: StreamPartitioner | None = None,
    ) -> Topology:
        """Add a sink to a topic, or to the topic that ``topic(key, value, context)`` returns."""
        is_fixed = isinstance(topic, str)
        return self._add(
            Sink(
                name=name,
                parents=parents,
                topic=topic if is_fixed else None,  # type: ignore[arg-type]
                topic_extractor=None if is_fixed else topic,  # type: ignore[arg-type]
                key_serde=resolve_serde(key) or UNDECLARED,
                value_serde=resolve_serde(value) or UNDECLARED,
                partitioner=partitioner,
                site=caller_site(),
            )
        )

    def add_state_store(self, store: StoreSpec, *processors: str) -> Topology:
        """Add a state store, and connect it to processors that have been added."""
        self._graph = None
        self._builder.add_store(store, *processors)
        return self

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        source_name: str,
        topic: str,
        processor_name: str,
        processor: Any,
        *,
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Add a store with the contents of a topic, which is also the changelog of the store."""
        self.add_source(
            source_name,
            topic,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
        )
        self.add_processor(processor_name, processor, source_name)
        self.add_state_store(store.with_logging_disabled(), processor_name)
        self._builder.connect_source_store_and_topic(store.name, topic)
        return self

    def add_global_store(
        self,
        store: StoreSpec,
        source_name: str,
        topic: str,
        processor_name: str,
        processor: Any,
        *,
        key: Any = None,
        value: Any = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Add a store that every task can read. ``processor`` keeps it up to date."""
        site = caller_site()
        self._graph = None
        self._builder.add_global_store(
            store,
            Source(
                name=source_name,
                topics=(topic,),
                key_serde=resolve_serde(key),
                value_serde=resolve_serde(value),
                timestamp_extractor=timestamp_extractor,
                site=site,
            ),
            Process(name=processor_name, supplier=as_supplier(processor, site), site=site),
        )
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Topology:
        """Connect a processor to stores that have been added."""
        self._graph = None
        self._builder.connect_stores(processor, *stores)
        return self

    def describe(self, format: str = "text") -> TopologyDescription | str:  # noqa: A002
        """Describe the topology, as an object with the same text as in Java, or as a picture.

        Args:
            format: ``"text"`` (default) as Kafka Streams prints it; ``"tree"`` with operators,
                lines and functions first; ``"mermaid"``, ``"svg"`` or ``"json"``.
        """
        if format == "text":
            return describe(self.graph)
        writers = {"tree": to_tree, "mermaid": to_mermaid, "svg": to_svg, "json": to_json}
        if format not in writers:
            raise InvalidArgumentError(
                "unknown-format",
                f"a topology cannot be described as {format!r}",
                fix='use "text", "tree", "mermaid", "svg" or "json"',
                at=caller_site(),
            )
        return writers[format](self.graph)

    def to_json(self) -> str:
        """Return the graph as JSON, with a version per kind of node."""
        return to_json(self.graph)

    def explain(self, config: Mapping[str, Any] | None = None) -> Explanation:
        """Return which sub-topologies run over columns, and why the others do not.

        Nothing runs. ``config`` matters if it names serdes or handlers.

        >>> import penstock as ps
        >>> builder = ps.StreamsBuilder()
        >>> payments = builder.stream("payments", key="string", value="json")
        >>> payments.filter(ps.col("amount") > 50).to("large")
        >>> builder.build().explain()
        sub-topology 0: over columns
        """
        # The planner belongs to a higher layer, so it is imported only here.
        planner = importlib.import_module("penstock.runtime.local.column_forms")
        found: Explanation = planner.explained(self, config)
        return found

    def _repr_html_(self) -> str:
        return to_svg(self.graph)

    def __repr__(self) -> str:
        return str(self.describe())

    def _add(self, node: Source | Process | Sink) -> Topology:
        self._graph = None
        self._builder.add_node(node)
        return self


def checked_topology(given: Any) -> Topology:
    """Return the argument if it is a topology that can run.

    Raises:
        InvalidArgumentError: ``not-a-topology``: it is something else, such as a builder.
        TopologyError: ``no-source``: it reads nothing.
    """
    if not isinstance(given, Topology):
        kind = type(given).__name__
        fix = "give what StreamsBuilder.build() returns, or a Topology made node by node"
        if hasattr(given, "build"):
            fix = "call build(): a builder is not finished, and its build() returns the topology"
        message = f"a topology is wanted, not a {kind}"
        raise InvalidArgumentError("not-a-topology", message, fix=fix, at=caller_site())
    check_runnable(given.graph)
    return given


def check_runnable(graph: Graph) -> None:
    """Refuse a topology without a source: it would do nothing."""
    if not any(isinstance(node, Source) for node in graph.nodes.values()):
        raise TopologyError(
            "no-source",
            "the topology has no source: it reads no topic and builds no global table",
            fix="start with builder.stream(topic), builder.table(topic) or add_source(...)",
            at=caller_site(),
        )
