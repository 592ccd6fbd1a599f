"""Keeps some records of a stream. Node: ``topology.nodes.streams.filter``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.filter import Filter


@executes(Filter)
class FilterExecutor(Executor[Filter]):
    """Forwards the records for which the predicate is true; it sees null keys and values, too."""

    def init(self) -> None:
        predicate, forward = self.node.predicate, self.forward

        def keep(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if predicate(key, value):
                forward(key, value, timestamp, headers)

        def drop(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if not predicate(key, value):
                forward(key, value, timestamp, headers)

        self.process = drop if self.node.negate else keep  # type: ignore[method-assign]
