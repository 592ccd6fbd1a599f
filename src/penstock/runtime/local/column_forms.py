"""Find out which sub-topologies can run over columns, by planning them without running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.kernel.columns.column_executor import no_form
from penstock.kernel.columns.planner import plan_columns
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.processor.processor import Processor
from penstock.processor.supplier import ColumnSupplier
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore
from penstock.topology.explanation import ColumnForm, Explanation
from penstock.topology.graph import Graph
from penstock.topology.nodes import Node, Process, TableTransformValues
from penstock.topology.subtopology import SubTopology, subtopologies
from penstock.topology.titles import label
from penstock.topology.topology import Topology


def explained(topology: Topology, config: Mapping[str, Any] | None = None) -> Explanation:
    """Return the result of ``Topology.explain``.

    The settings matter only where they name serdes or handlers.
    """
    settings = StreamsConfig({APPLICATION_ID.name: "explained", **(config or {})})
    return Explanation(tuple(column_forms(topology, settings)))


def column_forms(topology: Topology, config: StreamsConfig) -> list[ColumnForm]:
    """Plan every sub-topology over columns, except those that only feed global stores."""
    parts = [part for part in subtopologies(topology.graph) if not part.is_global]
    labels = {name: label(node) for name, node in topology.graph.nodes.items()}
    return [replace(_form(topology.graph, part, config), labels=labels) for part in parts]


def _form(graph: Graph, part: SubTopology, config: StreamsConfig) -> ColumnForm:
    nodes = [name for name in graph.nodes if name in part.nodes]
    graph = replace(graph, nodes={name: _quiet(node) for name, node in graph.nodes.items()})
    transformers = [n for n in nodes if isinstance(graph.nodes[n], TableTransformValues)]
    if transformers:
        # Planning these nodes would create the user's transformers and call their ``init``.
        return ColumnForm(part.id, {name: no_form(graph.nodes[name]) for name in transformers})
    settings = task_settings(config, emit_interval_ms=0)
    if settings.processor_wrapper is not None:
        return ColumnForm(part.id, dict.fromkeys(nodes, "processor.wrapper.class takes records"))
    stores = TaskStores(
        task_store_specs(graph, nodes),
        settings=settings,
        engine=lambda store: MemoryStore(),
        changelog=lambda store: None,
        global_stores=_global_stores(graph, settings),
    )
    task = StreamTask(
        TaskId(part.id, 0), graph, nodes, settings=settings, collector=_Nowhere(),
        stores=stores, wall_clock=lambda: 0,
    )  # fmt: skip
    try:
        plan = plan_columns(task, nodes)
        return ColumnForm(part.id, dict(plan.why_not), plan.by_record if plan.is_vectorised else {})
    finally:
        task.close()


def _quiet(node: Node) -> Node:
    """Return the node with a processor that does nothing in place of the user's.

    Whether the user's processor schedules calls by stream time shows only when it is made.
    """
    if isinstance(node, Process) and not isinstance(node.supplier, ColumnSupplier):
        return replace(node, supplier=_Quiet)
    return node


class _Quiet(Processor[Any, Any, Any, Any]):
    def process(self, record: Any) -> None:
        raise AssertionError("nothing is processed while planning")


def _global_stores(graph: Graph, settings: TaskSettings) -> Mapping[str, Any]:
    """Return empty global stores; planning needs their kinds, not their content."""
    return TaskStores(
        [store.spec for store in graph.global_stores.values()],
        settings=settings,
        engine=lambda store: MemoryStore(),
        changelog=lambda store: None,
    ).own


class _Nowhere:
    """A collector that accepts columns; planning never sends any record to it."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        raise AssertionError("nothing is sent while planning")

    def send_columns(
        self,
        topic: str,
        keys: Any,
        values: Any,
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
        partition: int | None = None,
    ) -> None:
        raise AssertionError("nothing is sent while planning")

    def partitions(self, topic: str) -> int:
        return 1
