"""Turns a value into any number of values. Node: ``topology.nodes.streams.flat_map_values``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.streams.flat_map import iterable
from penstock.model.record import Headers
from penstock.topology.nodes.streams.flat_map_values import FlatMapValues


@executes(FlatMapValues)
class FlatMapValuesExecutor(Executor[FlatMapValues]):
    """Forwards each value before it asks for the next one, under the same key."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def of_value(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            for new_value in iterable(fn(value), "flat_map_values"):
                forward(key, new_value, timestamp, headers)

        def of_key_and_value(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            for new_value in iterable(fn(key, value), "flat_map_values"):
                forward(key, new_value, timestamp, headers)

        self.process = (  # type: ignore[method-assign]
            of_key_and_value if self.node.with_key else of_value
        )
