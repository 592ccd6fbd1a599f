"""Drops records without a key. Node: ``topology.nodes.topics.null_key_filter``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.model.rules.table_rule import REPARTITION_NULLS
from penstock.topology.nodes.topics.null_key_filter import NullKeyFilter


@executes(NullKeyFilter)
class NullKeyFilterExecutor(Executor[NullKeyFilter]):
    """Forwards records with a key, whatever their value; counts the others as dropped."""

    def init(self) -> None:
        forward, dropped, name = self.forward, self.task.dropped, self.node.name
        takes, drop_reason = REPARTITION_NULLS.takes, REPARTITION_NULLS.drop_reason

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if key is None and not takes(False, value is not None):
                dropped(name, drop_reason)
            else:
                forward(key, value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]
