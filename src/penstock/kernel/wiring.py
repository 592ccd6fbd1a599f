"""Makes the executors of a task and connects them, before the first record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, StreamsError
from penstock.kernel.executor import Executor, Forward
from penstock.kernel.failures import Guard
from penstock.kernel.registry import executor_for
from penstock.kernel.wrapping import wrap
from penstock.model.record import Headers
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source

if TYPE_CHECKING:
    from penstock.kernel.failures import Guard
    from penstock.kernel.task import StreamTask


def wire(
    task: StreamTask,
    graph: Graph,
    nodes: Iterable[str],
    executors: dict[str, Executor[Any]],
    edges: dict[str, Forward],
) -> dict[str, Guard]:
    """Fill ``executors`` and ``edges``: the function that calls each node and handles its failures.

    Return what calls each node, except sinks, which have no guard.

    Every ``forward`` is final before the first ``init``, so executors may keep it. Parents are
    initialised before their children, as users expect of processors. Only sinks come first: they
    call no user code in ``init``.
    """
    for name in nodes:
        node = graph.nodes[name]
        executors[name] = executor_for(node)(node, task)
    sinks = [e for e in executors.values() if isinstance(e.node, Sink)]
    others = [e for e in executors.values() if not isinstance(e.node, Sink)]
    for executor in sinks:
        _init(executor)
        edges[executor.node.name] = executor.process
    wrapper = task.settings.processor_wrapper
    if wrapper is not None:
        for executor in others:
            if not isinstance(executor.node, Source):
                wrap(executor, wrapper)
    guards = {e.node.name: task.failures.guard(e) for e in others}
    edges.update({name: guard.enter for name, guard in guards.items()})
    for executor in others:
        children = [c for c in graph.children(executor.node.name) if c in edges]
        executor.forward = to_all([edges[child] for child in children])
    for executor in others:
        _init(executor)
        guards[executor.node.name].bind(executor.process)
    return guards


def to_all(edges: list[Forward]) -> Forward:
    """Return one function that calls every child in order."""
    if not edges:
        return _nowhere
    if len(edges) == 1:
        return edges[0]
    if len(edges) == 2:
        first, second = edges

        def to_both(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            first(key, value, timestamp, headers)
            second(key, value, timestamp, headers)

        return to_both

    def to_each(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        for edge in edges:
            edge(key, value, timestamp, headers)

    return to_each


def _nowhere(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
    return None


def _init(executor: Executor[Any]) -> None:
    site = executor.node.site
    try:
        executor.init()
    except StreamsError as error:
        if error.at is not None:
            raise
        raise error.located(site) from error
    except PenstockError as error:
        message, name = error.message, executor.node.name
        if name not in message:
            message = f"node {name!r}: {message}"
        raise StreamsError(error.code, message, error.fix, error.at or site) from error
    except Exception as error:
        raise StreamsError(
            "init",
            f"node {executor.node.name!r} failed to initialise: {error!r}",
            "make init() and the supplier succeed: the cause of this error says where they failed",
            site,
        ) from error
