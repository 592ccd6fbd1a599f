"""State stores that users add for their processors.

As data: ``penstock.state.spec`` and, for the processor of a global store, ``Process``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.topics.source import source_node
from penstock.dsl.options.stream_options import Consumed, not_none
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode
from penstock.model.site import caller_site
from penstock.processor.supplier import as_supplier
from penstock.state.spec import StoreSpec
from penstock.topology.nodes import Process

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering


class StateStore(LogicalNode):
    """A store that processors are connected to by name."""

    def __init__(self, spec: StoreSpec) -> None:
        super().__init__(spec.name)
        self.spec = spec

    def lower(self, to: Lowering) -> None:
        to.add_store(self.spec)


class GlobalStateStore(LogicalNode):
    """A store that a processor fills from a topic, and that every task can read."""

    def __init__(
        self, spec: StoreSpec, source: str, topic: str, consumed: Consumed[Any, Any]
    ) -> None:
        super().__init__(spec.name)
        self.spec = spec
        self.source = source
        self.topic = topic
        self.consumed = consumed
        self.processor: Process | None = None

    def lower(self, to: Lowering) -> None:
        assert self.processor is not None
        source = source_node(self.source, (self.topic,), self.consumed, self.site)
        to.graph.add_global_store(self.spec.with_logging_disabled(), source, self.processor)


def add_state_store(graph: LogicalGraph, store: StoreSpec) -> None:
    graph.add(StateStore(not_none(store, "the store builder")))


def add_global_store(
    graph: LogicalGraph, store: StoreSpec, topic: str, consumed: Consumed[Any, Any], processor: Any
) -> None:
    not_none(store, "the store builder")
    names = graph.names
    source = names.suffixed_or_new(consumed.name, "-source", "KSTREAM-SOURCE-")
    name = names.given_or_new(consumed.name, "KTABLE-SOURCE-")
    node = GlobalStateStore(store, source, not_none(topic, "the topic"), consumed)
    supplier = as_supplier(processor, caller_site())
    node.processor = Process(name=name, supplier=supplier, site=node.site)
    graph.add(node)
