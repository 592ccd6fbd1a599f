"""Splits a stream. Node: ``topology.nodes.streams.branch``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.executor import Executor, Forward, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.branch import Branch


@executes(Branch)
class BranchExecutor(Executor[Branch]):
    """Sends a record to the child of the first true predicate; later ones are not called."""

    def init(self) -> None:
        node = self.node
        arms = [
            (predicate, self._way_to(child))
            for predicate, child in zip(node.predicates, node.children, strict=True)
        ]
        otherwise = None if node.default is None else self._way_to(node.default)

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            for predicate, forward in arms:
                if predicate(key, value):
                    forward(key, value, timestamp, headers)
                    return
            if otherwise is not None:
                otherwise(key, value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]

    def _way_to(self, child: str) -> Forward:
        way = self.child(child)
        if way is None:
            raise StreamsError(
                "unknown-child",
                f"branch {self.node.name!r} has no child {child!r}",
                at=self.node.site,
            )
        return way
