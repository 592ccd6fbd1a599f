"""Where CURRENT_TIMESTAMP is refused: a table must be able to remove an old row."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.clock import clock_call
from penstock.sql.ast.node import Node
from penstock.sql.planner.stage import Stage


def refuse_clock(nodes: Iterable[Node], stage: Stage, clause: str) -> None:
    """Refuse CURRENT_TIMESTAMP where a table's old row is computed again.

    When a row of a table changes, the clause processes the old row again to remove it. The clock
    has advanced by then, so that another row would be removed.
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
