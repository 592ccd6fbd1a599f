"""What a task and the executors of its nodes expect of each other. The loop: ``kernel.task``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import UnsupportedOperationError
from penstock.model.record import Headers
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: How records travel between nodes: key, value, timestamp, headers, without an object per record.
Forward = Callable[[Any, Any, int, Headers], None]

N = TypeVar("N", bound=Node)
E = TypeVar("E", bound="type[Executor[Any]]")

_EXECUTORS: dict[type[Node], type[Executor[Any]]] = {}


class Executor(Generic[N]):
    """Runs one node inside one task, record at a time.

    The task makes all executors, sets ``forward`` (to all children, in the order in which they were
    added) and then calls ``init``. The executor of a table forwards ``Change`` values. An executor
    that forwards another timestamp or other headers than it was given calls ``forward_at``. That
    changes the task's record context, too, so that stores and sinks behind it see them.
    """

    forward: Forward
    #: Whether records may wait inside the executor until ``drain``.
    waits = False

    def __init__(self, node: N, task: TaskServices) -> None:
        self.node = node
        self.task = task
        self.context = task.context

    def init(self) -> None:
        """Look up stores, clocks and value getters; all stores are open when this is called."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        raise UnsupportedOperationError(
            "no-process", f"{type(self).__name__} does not process records"
        )

    def drain(self) -> bool:
        """Forward all records that wait; return false if there was none. Comes before a commit."""
        return False

    def close(self) -> None:
        """Release what ``init`` acquired; the task closes the stores."""

    def child(self, name: str) -> Forward | None:
        """Return the function that forwards to one child, for nodes that choose among children."""
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
    """Register the executor class of a node type."""

    def register(executor: E) -> E:
        _EXECUTORS[node_type] = executor
        return executor

    return register


def executor_for(node: Node) -> type[Executor[Any]]:
    """Return the executor class of the node's type."""
    return _EXECUTORS[type(node)]
