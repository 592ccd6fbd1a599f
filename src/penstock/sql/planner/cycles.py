"""Queries that would read what they write themselves, alone or over other queries."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.span import Span
from penstock.sql.catalog.catalog import PersistentQuery
from penstock.sql.planner.plan import QueryPlan


def refuse_cycle(plan: QueryPlan, queries: Iterable[PersistentQuery], span: Span | None) -> None:
    """Refuse a query whose rows would come back to it: each row would run in a circle for ever.

    before: INSERT INTO a SELECT * FROM b; INSERT INTO b SELECT * FROM a;
    after:  the second statement is refused

    Topics are compared, not names: two streams may be over one topic.

    Raises:
        AnalysisError: ``query-cycle``, with the way that a row would take.
    """
    if plan.sink is None:
        return
    sources = {source.topic: source.name for source in plan.sources}
    others = [query.plan for query in queries if query.plan.sink is not None]
    ways: dict[str, tuple[str, ...]] = {plan.sink.topic: (plan.sink.name,)}
    waiting = [plan.sink.topic]
    while waiting:
        topic = waiting.pop(0)
        if topic in sources:
            way = " -> ".join((sources[topic], *ways[topic]))
            raise AnalysisError(
                "query-cycle",
                f"the rows of this query would come back to it and never end: {way}",
                fix="write into another stream",
                span=span,
            )
        for other in others:
            assert other.sink is not None
            reads = any(source.topic == topic for source in other.sources)
            if reads and other.sink.topic not in ways:
                ways[other.sink.topic] = (*ways[topic], other.sink.name)
                waiting.append(other.sink.topic)
