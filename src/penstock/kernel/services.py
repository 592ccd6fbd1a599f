"""What a task offers to its executors. A test may give them something smaller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock.model.record import RecordContext
from penstock.model.task_id import TaskId
from penstock.serde.base import SerdeDefaults
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.collector import Collector
    from penstock.kernel.executor import Forward
    from penstock.kernel.failures import Failures
    from penstock.kernel.observing.node_meter import NodeMeter
    from penstock.kernel.observing.sensors import TaskSensors
    from penstock.kernel.operator_clock import OperatorClock
    from penstock.kernel.record_queue import RawRecord
    from penstock.kernel.value_getter import ValueGetter
    from penstock.processor.context import Cancellable, PunctuationType, Punctuator
    from penstock.state.spec import StoreSpec


class JoinClock:
    """The stream time that both sides of a stream-stream join share, and their next emission."""

    __slots__ = ("min_time", "next_time_to_emit", "stream_time")

    def __init__(self) -> None:
        self.stream_time = -1
        self.min_time = 2**63 - 1
        self.next_time_to_emit = 0


class TaskServices(Protocol):
    """A task as its executors see it. ``context`` is one object that is changed in place."""

    context: RecordContext
    #: The record that is being processed; ``None`` in a punctuation.
    current: RawRecord | None
    #: The thread that runs the task right now, and so may forward; ``None`` between two runs.
    thread: int | None
    defaults: SerdeDefaults
    task_id: TaskId
    application_id: str
    configs: dict[str, Any]
    #: How long final results and left or outer joins wait between two emissions; 0 means no wait.
    emit_interval_ms: int
    collector: Collector
    failures: Failures
    #: Counts what nodes do; ``None`` if nobody wants to know.
    meter: NodeMeter | None
    #: The sensors that processors have added.
    sensors: TaskSensors

    def topic_name(self, topic: str) -> str:
        """Return the real name of a topic: internal topics have the application's prefix."""

    def store(self, name: str) -> Any:
        """Return an open store of this task, or a global store; raise if there is none."""

    def store_spec(self, name: str) -> StoreSpec:
        """Return the description of a store of this task."""
        ...

    def value_getter(self, table: str) -> ValueGetter:
        """Return what reads rows of a table node: from its store, or computed from its parents."""

    def node(self, name: str) -> Node: ...

    def is_global_store(self, name: str) -> bool:
        """Tell whether every processor may read this store without being connected to it."""

    def children(self, node: str) -> list[str]: ...

    @property
    def state_dir(self) -> Path | None: ...

    def child(self, name: str) -> Forward | None:
        """Return the function that forwards to one node, for nodes that choose among children."""

    def join_clock(self, name: str) -> JoinClock:
        """Return the clock of this name: both sides of a join ask for the same one."""

    def unsettled(self, name: str) -> dict[bytes, bytes | None]:
        """Return the notes of this name. The task drops them when no message is between tasks."""

    def operator_clock(self, node: str) -> OperatorClock:
        """Return the clock of a node that has one."""

    def dropped(self, node: str, reason: str, raw: RawRecord | None = None) -> None:
        """Count a record that the node drops, by reason: see ``model.rules.drop_reasons``.

        ``raw`` is the record if it is not the one that is being processed.
        """

    def stream_time(self) -> int:
        """Return the highest timestamp that this task has seen, or -1 before the first record."""

    def system_time(self) -> int:
        """Return the task's wall-clock time in milliseconds, which the caller of the task sets."""

    def schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Punctuator,
        start_ms: int | None = None,
    ) -> Cancellable: ...

    def request_commit(self) -> None: ...
