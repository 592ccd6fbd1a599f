"""The contract between the task and the executors of its nodes. The loop: ``kernel.task``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import UnsupportedOperationError
from penstock.model.record import Headers
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: How records travel between nodes: key, value, timestamp, headers. No object per record.
Forward = Callable[[Any, Any, int, Headers], None]

N = TypeVar("N", bound=Node)
E = TypeVar("E", bound="type[Executor[Any]]")

_EXECUTORS: dict[type[Node], type[Executor[Any]]] = {}


class Executor(Generic[N]):
    """One node inside one task.

    The task makes all executors, sets ``forward`` (to all children, in the order they were added)
    and then calls ``init``. A table executor forwards ``Change`` values. Whoever forwards another
    timestamp or other headers than it was given uses ``forward_at``, which moves the task's record
    context along, so that stores and sinks further down see them.
    """

    forward: Forward

    def __init__(self, node: N, task: TaskServices) -> None:
        self.node = node
        self.task = task
        self.context = task.context

    def init(self) -> None:
        """Looks up stores, clocks and value getters; runs after every store is open."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        raise UnsupportedOperationError(
            "no-process", f"{type(self).__name__} does not process records"
        )

    def close(self) -> None:
        """Releases what ``init`` acquired; stores are closed by the task."""

    def child(self, name: str) -> Forward | None:
        """Return the way to one child, for nodes that choose among their children."""
        return self.task.child(name)

    def forward_at(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        context = self.context
        before = context.timestamp, context.headers
        context.timestamp, context.headers = timestamp, headers
        try:
            self.forward(key, value, timestamp, headers)
        finally:
            context.timestamp, context.headers = before


def executes(node_type: type[Node]) -> Callable[[E], E]:
    """Registers the executor class of a node type."""

    def register(executor: E) -> E:
        _EXECUTORS[node_type] = executor
        return executor

    return register


def executor_for(node: Node) -> type[Executor[Any]]:
    """Gives the executor class of the node's type."""
    return _EXECUTORS[type(node)]
