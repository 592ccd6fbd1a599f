"""Keeps some records of a stream. Node: ``topology.nodes.streams.filter``."""

from __future__ import annotations

from typing import Any

from penstock.expr.absent import AbsentFields
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.absent_fields import noting
from penstock.model.record import Headers
from penstock.topology.nodes.streams.filter import Filter


@executes(Filter)
class FilterExecutor(Executor[Filter]):
    """Forwards the records for which the predicate is true; it sees null keys and values, too.

    A record without a field that the predicate needs counts as dropped, with the field as reason.
    """

    def init(self) -> None:
        predicate, forward = self.node.predicate, self.forward
        absent = AbsentFields.of_predicate(predicate)
        note = noting(absent, self.node.name, self.task.dropped)

        def keep(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            is_kept = predicate(key, value)
            if is_kept:
                forward(key, value, timestamp, headers)
            elif is_kept is None and note is not None:
                note(value)

        def drop(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if not predicate(key, value):
                forward(key, value, timestamp, headers)

        self.process = drop if self.node.negate else keep  # type: ignore[method-assign]
