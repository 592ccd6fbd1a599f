"""Notes which records enter which nodes, with what each of them does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from penstock.kernel.executor import Executor, Forward
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.runtime.local.journey.decoding import Pair, decoded
from penstock.runtime.local.journey.snapshot import snapshot
from penstock.serde.base import Serde
from penstock.serving.journey.values import Access, Sending, Step, Trace
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.nodes.streams.peek import Peek

Serdes = tuple[Serde[Any] | None, Serde[Any] | None]

#: Further steps are counted no more: a record may become thousands.
MOST_STEPS = 300


class NodeTrace:
    """The steps of one record, from ``start`` to ``finish``.

    Args:
        graph: the graph of the task.
        decoders: the serdes of topics, by real name.
        calls_all: also call functions that only act on what is outside: the record is not run
            again here, but for the first time.
    """

    def __init__(
        self, graph: Graph, decoders: Mapping[str, Pair], *, calls_all: bool = False
    ) -> None:
        self.trace = Trace()
        self._graph, self._decoders, self._calls_all = graph, decoders, calls_all
        self.is_on = False
        self._open: list[Step] = []
        #: The step of the source, while what it has forwarded is processed.
        self._first: Step | None = None
        self._task: StreamTask | None = None
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._root: tuple[str | None, int] | None = None

    def attach(self, task: StreamTask) -> None:
        """Stand between the nodes of a task, which has not run yet."""
        self._task = task
        for executor in task.executors:
            # Nothing stands in front of sources and sinks: their records are noted elsewhere.
            if not isinstance(executor.node, Source | Sink):
                # Whoever enters the node in another way, such as a meter, goes through it, too.
                executor.process = self._around(executor)  # type: ignore[assignment, method-assign]
                task.divert(executor.node.name, None)

    def start(self) -> None:
        """Begin with a new trace."""
        assert self._task is not None
        self.trace = Trace()
        self._open, self._first, self._root = [], None, None
        self.is_on, self._dropped = True, Counter(self._task.dropped_records)

    def enter_source(self, node: str, key: Any, value: Any, timestamp: int) -> None:
        """Note the record as the source has decoded it; what follows comes from there."""
        assert self._task is not None
        context = self._task.context
        self._root = context.topic, context.offset
        self._first = self._of_source(node, key, value, timestamp)

    def finish(self) -> Trace:
        """Stop, and note what was dropped before a node was entered."""
        self.is_on = False
        for (node, reason), count in self._new_drops().items():
            self.trace.dropped += [(node, reason)] * count
        return self.trace

    def access(self, access: Access) -> None:
        """Note what the node that is running did with a store."""
        if self.is_on and self._open:
            self._open[-1].accesses.append(access)

    def sent(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        *,
        is_internal: bool,
    ) -> None:
        """Note a record that the node that is running has sent."""
        step = self.step
        if step is None:
            return
        of_keys, of_values = self._decoders.get(topic, (None, None))
        step.sent.append(
            Sending(
                topic=topic,
                key=snapshot(decoded(of_keys, topic, key, headers), of_keys),
                value=snapshot(decoded(of_values, topic, value, headers), of_values),
                timestamp=timestamp,
                is_internal=is_internal,
            )
        )

    @property
    def step(self) -> Step | None:
        """The step that is being taken; None between two of them."""
        if not self.is_on:
            return None
        return self._open[-1] if self._open else self._first

    def _around(self, executor: Executor[Any]) -> Forward:
        node = executor.node
        name, is_skipped = node.name, isinstance(node, Peek) and not self._calls_all
        inner = _without_effect(executor) if is_skipped else executor.process

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
        if not self.is_on:
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
            self._first = self._of_source(name, key, value, timestamp)

    def _of_source(self, node: str, key: Any, value: Any, timestamp: int) -> Step:
        assert self._task is not None
        serdes = self._decoders.get(self._task.context.topic or "", (None, None))
        return self._add(None, node, key, value, timestamp, serdes)

    def _source(self, topic: str) -> str:
        assert self._task is not None
        for node in self._graph.nodes.values():
            if isinstance(node, Source):
                named = (self._task.topic_name(each) for each in node.topics)
                if topic in named or (node.pattern and node.pattern.fullmatch(topic)):
                    return node.name
        return topic

    def _parent(self) -> Step:
        found = self._open[-1] if self._open else self._first
        assert found is not None
        return found

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


def _without_effect(executor: Executor[Any]) -> Callable[[Any, Any, int, Headers], None]:
    """Return what a peek or a foreach does besides its function: the forwarding."""
    return executor.forward if executor.node.forwards else _nothing


def _nothing(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
    return None
