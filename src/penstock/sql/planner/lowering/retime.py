"""Another time for records: a processor that forwards them with the time of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.model.record import FixedKeyRecord
from penstock.processor.processor import FixedKeyProcessor
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.steps import RetimeStep


def lower_retime(
    step: RetimeStep, lowering: Lowering, rows: KStream[Any, Any]
) -> KStream[Any, Any]:
    """Set the time of each record; one without a valid time is dropped, as at a source."""
    time_of = lowering.function(step.time, step.input.columns)
    return rows.process_values(lambda: _Retime(time_of))


class _Retime(FixedKeyProcessor[Any, Row | None, Row | None]):
    def __init__(self, time_of: Callable[[Row], Any]) -> None:
        self._time_of = time_of

    def process(self, record: FixedKeyRecord[Any, Row | None]) -> None:
        time = None if record.value is None else self._time_of(record.value)
        if time is not None and time >= 0:
            self.context.forward(record.with_timestamp(time))
