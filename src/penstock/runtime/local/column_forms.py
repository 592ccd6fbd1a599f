"""Which sub-topologies run over columns, found out by planning them; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.config import StreamsConfig
from penstock.kernel.stores import TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.kernel.vector.planner import plan_columns
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.state.memory import MemoryStore
from penstock.topology.subtopology import SubTopology, subtopologies
from penstock.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """Whether a sub-topology runs over columns, and by node why it does not."""

    subtopology: int
    why_not: Mapping[str, str]

    @property
    def is_vectorised(self) -> bool:
        return not self.why_not

    def __str__(self) -> str:
        if self.is_vectorised:
            return f"sub-topology {self.subtopology}: over columns"
        reasons = "; ".join(f"{node}: {reason}" for node, reason in self.why_not.items())
        return f"sub-topology {self.subtopology}: record by record ({reasons})"


def column_forms(topology: Topology, config: StreamsConfig) -> list[ColumnForm]:
    """Plans every sub-topology that a task runs; those that only feed global stores are not."""
    parts = [part for part in subtopologies(topology.graph) if not part.is_global]
    if topology.graph.global_stores:
        # A task that reads global stores needs them filled, which takes a running application.
        return []
    return [_form(topology, part, config) for part in parts]


def _form(topology: Topology, part: SubTopology, config: StreamsConfig) -> ColumnForm:
    settings = task_settings(config, emit_interval_ms=0)
    nodes = [name for name in topology.graph.nodes if name in part.nodes]
    stores = TaskStores(
        task_store_specs(topology.graph, nodes),
        settings=settings,
        engine=lambda store: MemoryStore(),
        changelog=lambda store: None,
        global_stores={},
    )
    task = StreamTask(
        TaskId(part.id, 0), topology.graph, nodes, settings=settings, collector=_Nowhere(),
        stores=stores, wall_clock=lambda: 0,
    )  # fmt: skip
    try:
        return ColumnForm(part.id, dict(plan_columns(task, nodes).why_not))
    finally:
        task.close()


class _Nowhere:
    """A collector that could take columns; nothing is ever sent while planning."""

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
