"""Where the clock cannot be asked: a table must be able to take a row back."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.clock import clock_call
from penstock.sql.ast.node import Node
from penstock.sql.planner.stage import Stage


def refuse_clock(nodes: Iterable[Node], stage: Stage, clause: str) -> None:
    """Refuse CURRENT_TIMESTAMP where a table's old row is computed again.

    When a row of a table changes, the old row goes through the clause once more to be taken back.
    The clock has moved on by then, so that another row would be taken back.
    """
    if not stage.step.is_table:
        return
    for node in nodes:
        call = clock_call(node)
        if call is not None:
            raise AnalysisError(
                "clock-on-table",
                f"{call.name} cannot stand in {clause} of a table: rows do not change when time"
                " passes, and a row that changes could not be taken back",
                fix="use it over a stream or in a SELECT without EMIT, or compare with ROWTIME",
                span=call.span,
            )
