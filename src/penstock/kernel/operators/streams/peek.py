"""Calls a function with every record. Node: ``topology.nodes.streams.peek``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.peek import Peek


@executes(Peek)
class PeekExecutor(Executor[Peek]):
    """Calls the function before any later node sees the record."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def peek(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            fn(key, value)
            forward(key, value, timestamp, headers)

        def foreach(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            fn(key, value)

        self.process = peek if self.node.forwards else foreach  # type: ignore[method-assign]
