"""The contract between the planner and the column form of a node. The loop: ``column_task``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.effects import Effects
from penstock.serde.base import Serde
from penstock.serde.columns import column_serde_of
from penstock.serde.windowed import TimeWindowedSerde
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

N = TypeVar("N", bound=Node)
S = TypeVar("S", bound="type[ColumnExecutor[Any]]")

_COLUMN_EXECUTORS: dict[type[Node], type[ColumnExecutor[Any]]] = {}


class NotVectorisableError(Exception):
    """Says why a node has to see its records one by one."""


class ColumnExecutor(Generic[N]):
    """One node over columns. Making it raises ``NotVectorisableError`` where that is not proven.

    A batch comes in pieces, each of which a processor's cache can hold: ``process`` takes one,
    ``finish`` ends the batch. Neither changes anything outside: what they decide on goes into the
    effects. The result must be that of the node's executor for the same records in their order.
    """

    #: Whether nothing tells in which order records of different queues came, headers aside.
    hides_order = False
    #: Whether what it sends is left to its cache, because nodes behind it see records one by one.
    is_handed_off = False
    #: Whether it asks where records came from: ``Batch.origins`` is there then.
    reads_origins = False
    #: Whether all that the node sends belongs to the end of the batch, so that it runs only once.
    runs_once = False

    def __init__(self, node: N, task: TaskServices) -> None:
        self.node = node
        self.task = task
        self.children: list[ColumnExecutor[Any]] = []

    def process(self, batch: Batch, effects: Effects) -> None:
        raise NotImplementedError

    def finish(self, effects: Effects) -> None:
        """Ends the batch, or the turn of an input that meets others."""
        for child in self.children:
            child.finish(effects)

    def reset(self) -> None:
        """Forgets a batch that was given up."""

    def hand_off(self) -> bool:
        """Leaves what it sends to its cache from now on; false if it has none.

        Raises:
            NotVectorisableError: if somebody would notice.
        """
        return False

    def forward(self, batch: Batch, effects: Effects) -> None:
        if len(batch):
            for child in self.children:
                child.process(batch, effects)

    def resources(self) -> set[str]:
        """Topics and stores that the node uses: what two paths share ties them together."""
        return set()


def vectorises(node_type: type[Node]) -> Callable[[S], S]:
    """Registers the column form of a node type."""

    def register(step: S) -> S:
        _COLUMN_EXECUTORS[node_type] = step
        return step

    return register


def column_executor_for(node: Node) -> type[ColumnExecutor[Any]]:
    """Gives the column form of the node's type; raises if there is none."""
    step = _COLUMN_EXECUTORS.get(type(node))
    if step is None:
        raise NotVectorisableError(no_form(node))
    return step


def vectorised_nodes() -> frozenset[type[Node]]:
    """The node types that have a column form."""
    return frozenset(_COLUMN_EXECUTORS)


def no_form(node: Node) -> str:
    return f"{type(node).__name__} has no column form"


def require_known(serde: Serde[Any], part: str) -> None:
    if isinstance(serde, TimeWindowedSerde) and serde.inner is not None:
        serde = serde.inner
    if column_serde_of(serde) is None:
        raise NotVectorisableError(f"{part} serde {type(serde).__name__} has no column form")
