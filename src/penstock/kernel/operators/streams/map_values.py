"""Replaces values of records. Node: ``topology.nodes.streams.map_values``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.map_values import MapValues


@executes(MapValues)
class MapValuesExecutor(Executor[MapValues]):
    """Forwards exactly one record per record, under the same key."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def of_value(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            forward(key, fn(value), timestamp, headers)

        def of_key_and_value(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            forward(key, fn(key, value), timestamp, headers)

        self.process = (  # type: ignore[method-assign]
            of_key_and_value if self.node.with_key else of_value
        )
