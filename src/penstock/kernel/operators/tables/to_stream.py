"""Turns a table's changes into a stream. Node: ``topology.nodes.tables.to_stream``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.topology.nodes.tables.to_stream import ToStream


@executes(ToStream)
class ToStreamExecutor(Executor[ToStream]):
    """Forwards the new value of every change, also of out-of-order changes of a versioned table."""

    def init(self) -> None:
        forward = self.forward

        def process(key: Any, value: Change, timestamp: int, headers: Headers) -> None:
            forward(key, value.new, timestamp, headers)

        self.process = process  # type: ignore[method-assign]
