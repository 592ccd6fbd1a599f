"""Replaces keys of records. Node: ``topology.nodes.streams.select_key``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.select_key import SelectKey


@executes(SelectKey)
class SelectKeyExecutor(Executor[SelectKey]):
    """Forwards exactly one record per record; the new key may be null."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            forward(fn(key, value), value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]
