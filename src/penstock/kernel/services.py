"""What a task offers to its executors; a test may hand them something smaller."""

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
    from penstock.kernel.operator_clock import OperatorClock
    from penstock.kernel.value_getter import ValueGetter
    from penstock.processor.context import Cancellable, PunctuationType, Punctuator


class JoinClock:
    """The stream time that both arms of a stream-stream join share, and their next emission."""

    __slots__ = ("min_time", "next_time_to_emit", "stream_time")

    def __init__(self) -> None:
        self.stream_time = -1
        self.min_time = 2**63 - 1
        self.next_time_to_emit = 0


class TaskServices(Protocol):
    """A task as its executors see it. ``context`` is one object, changed in place."""

    context: RecordContext
    defaults: SerdeDefaults
    task_id: TaskId
    application_id: str
    configs: dict[str, Any]
    #: How long windowed final emission and left/outer joins wait between emissions (0: never).
    emit_interval_ms: int
    collector: Collector
    failures: Failures

    def topic_name(self, topic: str) -> str:
        """The real name of a topic: internal ones carry the application's prefix."""

    def store(self, name: str) -> Any:
        """An open store of this task or a global store; unknown names raise."""

    def value_getter(self, table: str) -> ValueGetter:
        """Reads rows of a table node, from its store or computed from its parents."""

    def node(self, name: str) -> Node: ...

    def is_global_store(self, name: str) -> bool:
        """Whether every processor may read this store without being connected to it."""

    def children(self, node: str) -> list[str]: ...

    @property
    def state_dir(self) -> Path | None: ...

    def child(self, name: str) -> Forward | None:
        """The way to one node of that name, for those who choose among their children."""

    def join_clock(self, name: str) -> JoinClock:
        """One clock per name: both arms of a join ask for the same."""

    def operator_clock(self, node: str) -> OperatorClock:
        """The clock of a node that has one."""

    def dropped(self, node: str, reason: str) -> None:
        """Counts a record that the node does not process (null key, late, ...)."""

    def stream_time(self) -> int:
        """The highest timestamp this task has seen, -1 before the first."""

    def system_time(self) -> int:
        """The task's wall clock in milliseconds: handed in, never read from the system."""

    def schedule(
        self,
        node: str,
        interval_ms: int,
        kind: PunctuationType,
        callback: Punctuator,
        start_ms: int | None = None,
    ) -> Cancellable: ...

    def request_commit(self) -> None: ...
