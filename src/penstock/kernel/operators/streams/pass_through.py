"""Forwards records unchanged. Node: ``topology.nodes.streams.pass_through``."""

from __future__ import annotations

from penstock.kernel.executor import Executor, executes
from penstock.topology.nodes.streams.pass_through import PassThrough, TablePassThrough


@executes(PassThrough)
class PassThroughExecutor(Executor[PassThrough]):
    """Costs nothing per record: its ``process`` is its ``forward``."""

    def init(self) -> None:
        self.process = self.forward  # type: ignore[assignment, method-assign]


@executes(TablePassThrough)
class TablePassThroughExecutor(Executor[TablePassThrough]):
    """Does the same for changes of a table; the aggregations before it have the store."""

    def init(self) -> None:
        self.process = self.forward  # type: ignore[assignment, method-assign]
