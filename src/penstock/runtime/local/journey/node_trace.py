"""Notes which records enter which nodes, with what each of them does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from penstock.kernel.executor import Executor, Forward
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.runtime.local.journey.snapshot import snapshot
from penstock.serde.base import Serde
from penstock.serving.journey.values import Access, Step, Trace
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.nodes.streams.peek import Peek

Serdes = tuple[Serde[Any] | None, Serde[Any] | None]

#: Further steps are counted no more: a record may become thousands.
MOST_STEPS = 300


class NodeTrace:
    """The steps of one record. Nothing is noted before ``start``."""

    def __init__(self, graph: Graph, decoders: Mapping[str, tuple[Serde[Any], Serde[Any]]]) -> None:
        self.trace = Trace()
        self._graph, self._decoders = graph, decoders
        self._is_on = False
        self._open: list[Step] = []
        self._task: StreamTask | None = None
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._root: tuple[str | None, int] | None = None

    def attach(self, task: StreamTask) -> None:
        """Stand between the nodes of a task, which has not run yet."""
        self._task = task
        for executor in task.executors:
            # Nothing stands in front of sources and sinks: their records are noted elsewhere.
            if not isinstance(executor.node, Source | Sink):
                task.divert(executor.node.name, self._around(executor))

    def start(self) -> None:
        assert self._task is not None
        self._is_on, self._dropped = True, Counter(self._task.dropped_records)

    def finish(self) -> Trace:
        """Stop, and note what was dropped before a node was entered."""
        self._is_on = False
        for (node, reason), count in self._new_drops().items():
            self.trace.dropped += [(node, reason)] * count
        return self.trace

    def access(self, access: Access) -> None:
        """Note what the node that is running did with a store."""
        if self._is_on and self._open:
            self._open[-1].accesses.append(access)

    @property
    def step(self) -> Step | None:
        """The step that is being taken; None between two of them."""
        return self._open[-1] if self._is_on and self._open else None

    def _around(self, executor: Executor[Any]) -> Forward:
        node, inner = executor.node, _inner(executor)
        name, is_skipped = node.name, isinstance(node, Peek)

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            step = self._enter(name, key, value, timestamp)
            if step is None:
                inner(key, value, timestamp, headers)
                return
            step.is_skipped = is_skipped
            try:
                inner(key, value, timestamp, headers)
            except Exception as error:
                # A node further down has noted its own failure already.
                if step.forwarded == 0 or not _has_failed_below(self.trace, step):
                    step.error = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._leave(step)

        return process

    def _enter(self, node: str, key: Any, value: Any, timestamp: int) -> Step | None:
        if not self._is_on:
            return None
        if not self._open:
            self._begin(key, value, timestamp)
        if len(self.trace.steps) >= MOST_STEPS:
            self.trace.is_cut = True
            return None
        parent = self._parent()
        step = self._add(parent, node, key, value, timestamp)
        self._open.append(step)
        return step

    def _begin(self, key: Any, value: Any, timestamp: int) -> None:
        """Note the source as a step of its own: no function stands in front of it."""
        assert self._task is not None
        context = self._task.context
        root = context.topic, context.offset
        if root != self._root:
            self._root = root
            name = "a punctuation" if context.topic is None else self._source(context.topic)
            serdes = self._decoders.get(context.topic or "", (None, None))
            self._first = self._add(None, name, key, value, timestamp, serdes)

    def _source(self, topic: str) -> str:
        assert self._task is not None
        for node in self._graph.nodes.values():
            if isinstance(node, Source):
                named = (self._task.topic_name(each) for each in node.topics)
                if topic in named or (node.pattern and node.pattern.fullmatch(topic)):
                    return node.name
        return topic

    def _parent(self) -> Step:
        return self._open[-1] if self._open else self._first

    def _add(
        self,
        parent: Step | None,
        node: str,
        key: Any,
        value: Any,
        timestamp: int,
        serdes: Serdes = (None, None),
    ) -> Step:
        step = Step(
            id=len(self.trace.steps),
            parent=None if parent is None else parent.id,
            node=node,
            key=snapshot(key, serdes[0]),
            value=snapshot(value, serdes[1]),
            timestamp=timestamp,
        )
        if parent is not None:
            parent.forwarded += 1
        self.trace.steps.append(step)
        return step

    def _leave(self, step: Step) -> None:
        self._open.pop()
        for (node, reason), count in self._new_drops().items():
            if node == step.node:
                step.dropped += [reason] * count
                self._dropped[node, reason] += count

    def _new_drops(self) -> Counter[tuple[str, str]]:
        assert self._task is not None
        return self._task.dropped_records - self._dropped


def _has_failed_below(trace: Trace, step: Step) -> bool:
    return any(each.error is not None for each in trace.steps[step.id + 1 :])


def _inner(executor: Executor[Any]) -> Callable[[Any, Any, int, Headers], None]:
    """Return what the node does; of a peek or a foreach, only the forwarding."""
    node = executor.node
    if not isinstance(node, Peek):
        return executor.process
    return executor.forward if node.forwards else _nothing


def _nothing(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
    return None
